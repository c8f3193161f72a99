"""What a learner calls: check, hint, solution, reset, status; and the same as commands."""

import sys
from dataclasses import asdict
from types import SimpleNamespace

import pytest

import minibatch as mb
from minibatch.course import (
    commands,
    hint,
    learner,
    learner_view,
    open_button,
    reset,
    solution,
    status,
    with_yours,
    your_turn,
)
from minibatch.course.exercises import learner_file, source
from minibatch.course.exercises.progress import Progress
from minibatch.course.judging import graders, verdict_card
from minibatch.course.judging.block_map import BlockMap
from minibatch.course.judging.drawing import Drawing
from minibatch.course.judging.session import Judging
from minibatch.course.judging.verdict import (
    BLOCKED,
    ERROR,
    NOT_ATTEMPTED,
    PASSED,
    TIMED_OUT,
    WRONG,
    TestResult,
    Verdict,
)


@pytest.fixture
def exercises(tmp_path, monkeypatch):
    """A learner's folder, all stubs."""
    folder = tmp_path / "exercises"
    folder.mkdir()
    for stem in source.stems():
        text = (source.SOLUTIONS / f"{stem}.py").read_text(encoding="utf-8")
        (folder / f"{stem}.py").write_text(source.stub(text), encoding="utf-8")
    monkeypatch.setenv("MINIBATCH_EXERCISES", str(folder))
    return folder


def solve(folder, stem):
    """As a learner does: lines added in the marked places."""
    text = (folder / f"{stem}.py").read_text(encoding="utf-8")
    for task in source.select(stem):
        if not task.changes_minibatch:
            begin, end = source.place(text, task.id)
            lines = text.splitlines()
            lines[begin:end] = task.solution.splitlines()
            text = "\n".join(lines) + "\n"
    (folder / f"{stem}.py").write_text(text, encoding="utf-8")


def test_hints_come_one_after_the_other_and_the_last_stays(exercises):
    hints = source.all_tasks()["4.1"].hints
    shown = [hint("4.1").text for _ in range(len(hints) + 1)]
    for text, expected in zip(shown, [*hints, hints[-1]], strict=True):
        assert expected in text
    assert hints[0] in hint("4.1", 1).text
    with pytest.raises(ValueError, match="1 to "):
        hint("4.1", 99)


def test_of_two_changes_to_the_engine_each_solution_shows_its_own(exercises):
    probe, reason = (solution(name, insist=True).text for name in ("4.3", "7.4"))
    assert "kv_bytes_read" in probe
    assert "prefix.py" not in probe
    assert '"last token"' in reason
    assert "kv_bytes_read" not in reason


def test_in_a_shell_the_next_step_is_a_command_for_a_shell(exercises, capsys):
    assert commands.solution(["4.1"]) == 0
    said = capsys.readouterr().out
    assert "python -m minibatch hint 4.1" in said
    assert "python -m minibatch solution 4.1 --insist" in said
    assert "('4.1'" not in said
    assert "solution('4.1', insist=True)" in solution("4.1").text


@pytest.mark.full
def test_the_solution_is_shown_after_passing_or_on_insisting(exercises):
    code = source.all_tasks()["4.1"].solution
    assert code not in solution("4.1").text
    assert "Hints left" in solution("4.1").text
    assert code in solution("4.1", insist=True).text
    solve(exercises, "ex04_continuous_batching")
    assert learner.check("4.1").passed
    assert code in solution("4.1").text


def test_check_sees_the_file_as_it_is_saved_and_status_remembers(exercises):
    """The second by a process that was ready before the file was."""
    first = learner.check("4.2")
    assert not first.passed
    assert [verdict.outcome for verdict in first.verdicts] == [NOT_ATTEMPTED]
    waiting = graders._ready
    solve(exercises, "ex04_continuous_batching")
    so_far = []
    second = learner.check("4.2", tell=lambda verdict: so_far.append(len(verdict.results)))
    assert second.passed
    assert second.points == second.max_points == source.all_tasks()["4.2"].points
    assert so_far == list(range(1, len(second.verdicts[0].results) + 1))
    assert sys.platform != "linux" or (graders._ready is waiting and waiting.can_work)
    assert "✓ passed" in status().text
    with (exercises / "ex04_continuous_batching.py").open("a") as file:
        file.write("# a thought\n")
    assert "changed since" in status().text


def test_a_syntax_error_is_told_with_its_line_and_nothing_is_started(exercises, monkeypatch):
    def fail(*args, **kwargs):
        raise AssertionError("a process was started")

    monkeypatch.setattr(learner, "judge", fail)
    path = exercises / "ex04_continuous_batching.py"
    path.write_text("def plan(self):\n    rows = [self.running[0]\n    return rows\n")
    found = learner.check("4.1")
    assert (found.points, found.max_points) == (0, 6)
    assert "line 2: '['" in found.text
    for shown in (found.text, found.html):
        assert "rows = [self.running[0]\n" in shown
    path.write_text("def plan(self)\n    pass\n")
    assert "line 1: " in learner.check("4.1").text


@pytest.mark.parametrize("home", [True, False], ids=["at home", "nowhere"])
def test_where_the_exercises_cannot_be_written_progress_is_kept_at_home_or_left_out(
    exercises, monkeypatch, tmp_path, capsys, home
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    monkeypatch.setattr("os.access", lambda path, mode: home and exercises != path)
    hint("4.1")
    assert ("Hint 2" if home else "Hint 1") in hint("4.1").text
    assert ("Not stored" in capsys.readouterr().out) is not home
    assert not (exercises / "progress.json").exists()


def test_reset_puts_the_stub_back(exercises):
    solve(exercises, "ex04_continuous_batching")
    assert "ex04_continuous_batching" in reset("4.1").text
    text = (exercises / "ex04_continuous_batching.py").read_text(encoding="utf-8")
    assert "Exercise 4.1: " in text


def test_the_names_stay_functions_after_they_were_used(exercises):
    """A module of the same name would take a function's place; lessons import them twice."""
    from minibatch import course

    your_turn("4.1")
    for name in ("check", "hint", "reset", "solution", "status", "your", "your_turn"):
        assert callable(getattr(course, name))


def test_a_name_that_is_no_exercise_is_refused_with_those_there_are(exercises, capsys):
    with pytest.raises(ValueError, match='"7.7".*4.1, 4.2'):
        learner.check("7.7")
    with pytest.raises(ValueError, match="has 3 tasks; name one"):
        hint("ex04")
    with pytest.raises(SystemExit):
        commands.hint(["7.7"])
    assert '"7.7"' in capsys.readouterr().err


def test_a_card_has_statement_signature_example_and_points(exercises):
    asked = your_turn("1.1").children[0].value
    assert "1 point ·" in asked
    assert "How many bytes of K and V does one token keep" in asked
    assert "num_layers: int,\n    num_query_heads: int" in asked
    assert "<code>kv_bytes_per_token(2, 4, 1, 8, 2)</code> is 64." in asked
    assert "async def answer(\n" in your_turn("12.2").children[0].value
    assert "<code>row.seq_len</code>" in your_turn("4.3").children[0].value
    assert "[[(0, 0, 3, [28, 29, 30])],\n" in your_turn("8.3").children[0].value  # line by line


def test_a_file_that_the_server_shows_opens_beside_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(open_button, "_server_root", lambda: tmp_path)
    attributes = open_button.open_beside(tmp_path / "exercises" / "ex01.py")
    assert '"path": "exercises/ex01.py"' in attributes["data-commandlinker-args"]
    assert open_button.open_beside(tmp_path.parent / "elsewhere.py") == {}


@pytest.fixture
def shown(monkeypatch):
    """What a cell shows with `with_yours`: a sentence, then what was made."""
    places = []

    def place(what, display_id):
        places.append(what)
        number = len(places) - 1
        return SimpleNamespace(update=lambda what: places.__setitem__(number, what))

    monkeypatch.setattr(learner_view, "display", place)
    return places


def test_what_is_shown_with_a_stand_in_becomes_the_learner_s_when_it_passes(exercises, shown):
    made = []

    @with_yours("MyContinuous", instead=mb.Continuous)
    def player(policy):
        made.append(policy.__name__)
        print("printed for", policy.__name__)
        return policy.__name__, "its map" if made[1:] else None

    assert made == [shown[1]] == ["Continuous"]
    assert shown[2].data == ""
    assert "Continuous" in shown[0].html
    solve(exercises, "ex04_continuous_batching")
    assert learner_file.passed("4.1") == 1
    assert shown[1:] == ["MyContinuous", "its map"]
    assert "This is yours" in shown[0].html
    assert "printed for MyContinuous" in shown[0].html


def test_without_a_substitute_the_sentence_promises_none(exercises, shown):
    @with_yours("MyContinuous", instead=None)
    def name_of(policy):
        return policy and policy(4).max_batch_size

    assert shown[0].text.startswith("Your MyContinuous in exercises/ex04_continuous_batching.py is")
    assert "not written yet.\n" in shown[0].text
    broken = "class MyContinuous(object):\n    def __init__(self, size):\n        size // 0\n"
    (exercises / "ex04_continuous_batching.py").write_text(broken)
    with_yours("MyContinuous", instead=None)(name_of.make)
    assert "by zero.\n" in shown[2].text
    assert shown[3].data == ""


def test_what_is_written_and_has_not_passed_is_shown_with_a_sentence_that_says_so(exercises, shown):
    solve(exercises, "ex04_continuous_batching")
    progress, task = Progress(), source.all_tasks()["4.1"]

    @with_yours("MyContinuous", instead=mb.Continuous)
    def name_of(policy):
        return policy.__name__

    assert "yet" not in shown[0].text
    progress.note_verdict(task, WRONG, 0, 6)
    with_yours("MyContinuous", instead=mb.Continuous)(lambda policy: policy.__name__)
    assert "This is yours" in shown[2].text
    assert "It has not passed yet" in shown[2].text
    assert shown[3] == "MyContinuous"

    broken = "class MyContinuous(object):\n    def __init__(self, size):\n        size // 0\n"
    (exercises / "ex04_continuous_batching.py").write_text(broken)
    with_yours("MyContinuous", instead=mb.Continuous)(lambda policy: policy(4).max_batch_size)
    said = "Your MyContinuous does not work here yet, line 3: ZeroDivisionError: "
    assert said in shown[4].text
    assert "Continuous" in shown[4].text
    assert shown[5] == 4


def test_the_widget_answers_each_button_and_asks_before_a_reset(exercises):
    turn = your_turn("4.1")
    turn.hint_button.click()
    assert "Hint 1 of" in turn.answer.value
    solve(exercises, "ex04_continuous_batching")
    turn.reset_button.click()
    assert "Press Reset again" in turn.answer.value
    turn.hint_button.click()  # another thought
    turn.reset_button.click()
    assert "Press Reset again" in turn.answer.value
    turn.reset_button.click()
    assert "Your version is in" in turn.answer.value
    assert 'role="status"' in turn.answer.value


def test_the_widget_tells_what_went_wrong_and_stays_usable(exercises, monkeypatch):
    def fail(name, tell):
        raise learner.JudgeError("no grader ran for 4.1 <b>")

    monkeypatch.setattr(learner, "check", fail)
    turn = your_turn("4.1")
    turn.check_button.click()
    assert "no grader ran for 4.1 &lt;b&gt;" in turn.answer.value
    assert not turn.check_button.disabled


def verdict_of(outcome, **details):
    results = [
        TestResult("test_one", "one", 2, PASSED),
        TestResult("test_two", "two", 3, outcome, **details),
    ]
    return Verdict("4.1", "Who <runs>", "ex04_continuous_batching", results)


@pytest.mark.parametrize("outcome", [PASSED, WRONG, NOT_ATTEMPTED, ERROR, TIMED_OUT])
def test_a_card_says_the_outcome_in_word_and_symbol(outcome):
    verdict = verdict_of(outcome)
    for shown in (verdict_card.as_text(verdict, colour=False), verdict_card.as_html(verdict)):
        assert outcome in shown
        assert verdict_card.SYMBOLS[outcome] in shown
        assert ("5 of 5" if outcome == PASSED else "2 of 5") in shown
    assert "<runs>" not in verdict_card.as_html(verdict)
    assert "\033[" in verdict_card.as_text(verdict, colour=True)


def test_a_card_has_sentence_comparison_drawing_and_the_learner_s_lines():
    drawing = Drawing(["A", "B"], ["Pdd", "wPd"], ["Pdd", "w·P"], 1, 2)
    details = {
        "sentence": "A slot stood <empty>.",
        "expected": "[1]",
        "got": "[2]",
        "drawing": {
            "names": drawing.names,
            "expected": drawing.expected,
            "got": drawing.got,
            "first": 1,
            "differs": 2,
        },
        "frames": [{"line": 7, "in": "plan", "code": "x = 1"}],
    }
    text = verdict_card.as_text(verdict_of(WRONG, **details), colour=False)
    page = verdict_card.as_html(verdict_of(WRONG, **details))
    assert "A slot stood <empty>." in text
    assert "A slot stood &lt;empty&gt;." in page
    for shown in (text, page):
        assert "[1]" in shown
        assert "[2]" in shown
        assert "ex04_continuous_batching.py, line 7, in plan" in shown
    assert "^ step 2" in text
    assert 'aria-label="The plans differ first in step 2."' in page


def test_who_has_written_a_part_hears_what_is_missing():
    verdict = verdict_of(NOT_ATTEMPTED)
    for shown in (verdict_card.as_text(verdict, colour=False), verdict_card.as_html(verdict)):
        assert "What is missing: two." in shown
    verdict.results = verdict.results[1:]  # nothing is written
    assert "What is missing" not in verdict_card.as_text(verdict, colour=False)


def test_who_passes_hears_what_is_theirs_now_and_no_grader_s_word():
    verdict = verdict_of(PASSED)
    verdict.yours = "Your policy serves 12 agents."
    for shown in (verdict_card.as_text(verdict, colour=False), verdict_card.as_html(verdict)):
        assert verdict.yours in shown
        assert "public" not in shown


def test_a_test_that_never_came_to_its_question_is_blocked_not_wrong():
    told = []
    judging = Judging(
        SimpleNamespace(send_to_judge=lambda **message: told.append(message["result"]))
    )
    for name, outcome, sentence in (
        ("slots", WRONG, "In step 1: 4 rows planned; max_batch_size is 3."),
        ("order", WRONG, "In step 3: 1 row planned; max_batch_size is 3."),
        ("any", WRONG, "In step 2: 9 rows planned; max_batch_size is 3. (random case; --seed 7 x)"),
        ("pool", WRONG, "C overtook A, B."),
        ("tokens", PASSED, ""),
        ("loop", TIMED_OUT, "your code had not ended after 20 s"),
        ("later", TIMED_OUT, "the limit of 20 s for this task is used up"),
    ):
        judging.note("4.1", TestResult(f"test_{name}", name, 1, outcome, sentence))
    assert [(result["outcome"], result["blocked_by"]) for result in told] == [
        (WRONG, ""),
        (BLOCKED, "slots"),
        (BLOCKED, "slots"),
        (WRONG, ""),
        (PASSED, ""),
        (TIMED_OUT, ""),
        (BLOCKED, "loop"),
    ]
    verdict = Verdict("4.1", "Who", "ex04", [TestResult(**result) for result in told])
    assert (verdict.outcome, verdict.points) == (WRONG, 1)
    for shown in (verdict_card.as_text(verdict, colour=False), verdict_card.as_html(verdict)):
        assert "⊘ order" in shown
        assert "blocked by “slots”" in shown
    assert "1 of 7 tests passed, 3 blocked" in verdict_card.as_html(verdict)


def test_a_map_of_blocks_says_who_holds_each_and_which_is_taken_next():
    drawing = BlockMap("free([0])", ["A B", "", "A", ""], [3, 1])
    lines = [line.split("  ") for line in drawing.as_text().splitlines()]
    assert lines[0] == ["Before free([0]):"]
    assert [cell.strip() for cell in lines[2] if cell] == ["held by", "A B", "free", "A", "free"]
    assert drawing.as_text().splitlines()[3].split() == ["next", "2.", "1."]
    verdict = verdict_of(WRONG, sentence="held", drawing=asdict(drawing))
    assert "Before free([0]):" in verdict_card.as_text(verdict, colour=False)
    assert '<pre aria-label="who holds which block">Before free([0]):' in verdict_card.as_html(
        verdict
    )


def test_a_hidden_test_is_not_told():
    verdict = verdict_of(WRONG, sentence="a secret", hidden=True)
    assert "secret" not in verdict_card.as_html(verdict) + verdict_card.as_text(verdict)
    assert "two" not in verdict_card.as_text(verdict, colour=False)
