"""Exercises as files: one source, the stubs made from it, and what happens to a learner's copy."""

import ast
import difflib
import subprocess

import pytest

from minibatch.course.exercises import build_stubs, learner_file, source
from minibatch.course.exercises.progress import Progress
from minibatch.course.setup import ROOT

SOURCE = '''"""Two small tasks."""

# ---------------------------------------------------------------------------------------------
# Exercise 9.1: Double
# 2 points, 5 minutes, difficulty 1 of 5
# lessons/00_start_here.ipynb, "One model, one answer"
#
# Return twice the number.
#
# HINT Add it
#      to itself.
# HINT Or multiply.
# HINT return 2 * n
# ---------------------------------------------------------------------------------------------
def double(n: int) -> int:
    """double(3) is 6."""
    # BEGIN SOLUTION
    return 2 * n
    # END SOLUTION


class Machine:
    # -----------------------------------------------------------------------------------------
    # Exercise 9.2: Halve
    # 1 point, 5 minutes, difficulty 2 of 5
    # lessons/00_start_here.ipynb, "The lessons"
    #
    # Return half.
    #
    # HINT a
    # HINT b
    # HINT c
    # -----------------------------------------------------------------------------------------
    def halve(self, n: int) -> float:
        # BEGIN SOLUTION
        half = n / 2
        return half
        # END SOLUTION
'''


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course of one exercise file, in a folder of its own."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "exercises").mkdir()
    (tmp_path / "solutions" / "ex09_small.py").write_text(SOURCE)
    monkeypatch.setattr(source, "SOLUTIONS", tmp_path / "solutions")
    monkeypatch.setenv("MINIBATCH_EXERCISES", str(tmp_path / "exercises"))
    assert build_stubs.main(["build"], tmp_path) == 0
    return tmp_path


def tasks(course):
    return source.all_tasks(course / "solutions")


def test_a_card_is_read_whole(course):
    task = tasks(course)["9.1"]
    assert (task.title, task.points, task.minutes, task.difficulty) == ("Double", 2, 5, 1)
    assert (task.lesson, task.section) == ("00_start_here.ipynb", "One model, one answer")
    assert task.text == "Return twice the number."
    assert task.hints == ["Add it\nto itself.", "Or multiply.", "return 2 * n"]
    assert task.solution == "    return 2 * n"


def test_a_stub_has_neither_hints_nor_solution_and_raises_by_name(course):
    text = (course / "exercises" / "ex09_small.py").read_text()
    assert "HINT" not in text
    assert "return 2 * n" not in text
    namespace = {}
    exec(text, namespace)
    with pytest.raises(NotImplementedError, match=r"Exercise 9\.1: Double"):
        namespace["double"](1)
    with pytest.raises(NotImplementedError, match=r"Exercise 9\.2"):
        namespace["Machine"]().halve(1)


def test_solving_only_adds_lines_in_the_marked_place(course):
    path = course / "exercises" / "ex09_small.py"
    stub = path.read_text()
    begin, end = source.place(stub, "9.2")
    lines = stub.splitlines()
    assert lines[begin - 1].strip() == "# YOUR CODE for Exercise 9.2 begins here"
    assert len(lines[begin:end]) == 1
    lines[begin:end] = tasks(course)["9.2"].solution.splitlines()
    namespace = {}
    exec("\n".join(lines), namespace)
    assert namespace["Machine"]().halve(6) == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("# 2 points, 5 minutes", "# two points", "lacks its points"),
        ("# HINT Or multiply.\n", "", "has 2 hints"),
        ("# Exercise 9.1: Double", "# Task 9.1: Double", "begins outside a task"),
        ("    # END SOLUTION\n\n\nclass", "\n\nclass", "inside another solution"),
        ("Exercise 9.2", "Exercise 9.1", "has a task 9.1 too"),
    ],
)
def test_a_source_that_breaks_the_form_is_refused_by_name(course, old, new, message):
    assert old in SOURCE
    (course / "solutions" / "ex09_small.py").write_text(SOURCE.replace(old, new, 1))
    with pytest.raises(source.SourceError, match=message):
        source.all_tasks(course / "solutions")


def test_build_check_tells_a_stub_that_is_out_of_date(course, capsys):
    assert build_stubs.main(["build", "--check"], course) == 0
    path = course / "solutions" / "ex09_small.py"
    path.write_text(SOURCE.replace("twice the", "the doubled"))
    assert build_stubs.main(["build", "--check"], course) == 1
    assert "exercises/ex09_small.py is not what solutions/" in capsys.readouterr().out.replace(
        "\\", "/"
    )


def test_reset_of_a_task_keeps_the_other_and_a_copy(course):
    path = course / "exercises" / "ex09_small.py"
    solved = path.read_text()
    for task in tasks(course).values():
        begin, end = source.place(solved, task.id)
        lines = solved.splitlines()
        lines[begin:end] = task.solution.splitlines()
        solved = "\n".join(lines) + "\n"
    path.write_text(solved)
    kept = learner_file.reset([tasks(course)["9.1"]], whole_file=False)
    assert (kept / "exercises" / "ex09_small.py").read_text() == solved
    text = path.read_text()
    assert 'raise NotImplementedError("Exercise 9.1: ' in text
    assert 'raise NotImplementedError("Exercise 9.2: ' not in text
    learner_file.reset([tasks(course)["9.1"]], whole_file=True)
    assert path.read_text() == source.stub(SOURCE)
    assert learner_file.reset([tasks(course)["9.1"]], whole_file=True) is None


def test_reset_without_marks_says_what_to_do_and_changes_nothing(course):
    path = course / "exercises" / "ex09_small.py"
    path.write_text("def double(n):\n    return 2 * n\n")
    with pytest.raises(ValueError, match=r'lost the marks around exercise 9\.1; reset\("ex09"\)'):
        learner_file.reset([tasks(course)["9.1"]], whole_file=False)
    assert path.read_text() == "def double(n):\n    return 2 * n\n"


PARTS = """\
        \'\'\'halve(2) is 1.\'\'\'
        # BEGIN SOLUTION of halve
        half = n / 2
        return half
        # END SOLUTION

    def third(self, n: int) -> float:
        \'\'\'third(3) is 1.\'\'\'
        # BEGIN SOLUTION of third
        return n / 3
        # END SOLUTION
"""


def test_a_task_in_two_functions_has_a_named_place_in_each(course):
    whole = SOURCE[: SOURCE.index("        # BEGIN SOLUTION\n        half")] + PARTS
    (course / "solutions" / "ex09_small.py").write_text(whole)
    task = tasks(course)["9.2"]
    assert task.signature.splitlines() == [
        "class Machine:",
        "    def halve(self, n: int) -> float:",
        "    def third(self, n: int) -> float:",
    ]
    assert task.doc == "`halve`: halve(2) is 1.\n\n`third`: third(3) is 1."
    assert "    def third(self, n: int) -> float:\n        return n / 3" in task.solution
    stub = source.stub(whole)
    assert source.marked_places(stub, "9.2") == ["9.2 (halve)", "9.2 (third)"]
    path = course / "exercises" / "ex09_small.py"
    lines = stub.splitlines()
    for name in ("9.2 (third)", "9.2 (halve)"):
        lines[slice(*source.place("\n".join(lines), name))] = ["        return 1"]
    path.write_text("\n".join(lines) + "\n")
    learner_file.reset([task], whole_file=False)
    assert path.read_text() == stub


def test_progress_survives_and_knows_when_the_file_has_changed(course):
    task = tasks(course)["9.1"]
    Progress().note_verdict(task, "passed", 2, 2)
    Progress().note_hint(task, 2)
    entry = Progress()["9.1"]
    assert (entry.outcome, entry.points, entry.num_hints) == ("passed", 2, 2)
    assert Progress().is_current(task)
    (course / "exercises" / "ex09_small.py").write_text("")
    assert not Progress().is_current(task)


def test_a_verdict_on_the_engine_is_old_once_a_room_is_edited(course, monkeypatch):
    room = course / "minibatch" / "core"
    room.mkdir(parents=True)
    (room / "records.py").write_text("a = 1\n")
    monkeypatch.setattr("minibatch.course.exercises.progress.ROOT", course)
    task = source.Task("9.3", "Probe", "ex09_small", may_change=["minibatch/core"])
    Progress().note_verdict(task, "passed", 2, 2)
    assert Progress().is_current(task)
    (room / "records.py").write_text("a = 2\n")
    assert not Progress().is_current(task)


def test_a_broken_progress_file_begins_anew(course):
    (course / "exercises" / "progress.json").write_text('{"9.1": 3}')
    assert Progress()["9.1"].outcome == ""


def test_yours_is_used_once_it_is_written(course, capsys):
    path = course / "exercises" / "ex09_small.py"
    assert learner_file.your("double", instead=abs) is abs
    assert "not written yet" in capsys.readouterr().out
    path.write_text("def double(n):\n    return 2 * n\n")
    assert learner_file.your("double", instead=abs)(4) == 8
    path.write_text("def double(n)\n")
    assert learner_file.your("double", instead=abs) is abs
    assert "SyntaxError" in capsys.readouterr().out


def test_who_asked_is_called_when_a_task_passes():
    called = []
    learner_file.on_pass("9.1", lambda: called.append("9.1"))
    assert learner_file.passed("9.2") == 0
    assert learner_file.passed("9.1") == 1
    assert called == ["9.1"]


def test_a_policy_with_one_stub_left_borrows_that_method(course):
    (course / "exercises" / "ex09_small.py").write_text(
        "import minibatch as mb\n\n\nclass Mine(mb.Scheduler):\n"
        "    def plan(self, now):\n        return mb.StepPlan()\n\n"
        "    def update(self, plan, tokens, now):\n"
        '        raise NotImplementedError("Exercise 9.2: Halve: not written yet")\n'
    )
    import minibatch as mb

    mine = learner_file.your("Mine", instead=mb.Continuous)
    assert mine.update is mb.Scheduler.update
    assert mine.__name__ == "Mine"


def test_a_class_that_is_no_policy_is_used_once_all_of_it_is_written(course):
    path = course / "exercises" / "ex09_small.py"
    stub = '        raise NotImplementedError("Exercise 9.2: Halve: not written yet")\n'
    whole = "class Mine(dict):\n    def a(self):\n        return 1\n    def b(self):\n"
    path.write_text(whole + stub)
    assert learner_file.your("Mine", instead=dict) is dict
    path.write_text(whole + "        return 2\n")
    assert learner_file.your("Mine", instead=dict)().b() == 2


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_solved_exercises_survive_a_pull_of_new_lessons(course, tmp_path_factory):
    """A new file upstream needs nothing; a reworded stub merges, since solving only adds lines."""
    upstream = course
    git(upstream, "init", "-q", "-b", "main")
    git(upstream, "add", "-A")
    git(upstream, "commit", "-qm", "one")
    mine = tmp_path_factory.mktemp("mine") / "clone"
    git(upstream, "clone", "-q", str(upstream), str(mine))
    path = mine / "exercises" / "ex09_small.py"
    lines = path.read_text().splitlines()
    begin, end = source.place(path.read_text(), "9.1")
    lines[begin:end] = ["    return 2 * n"]
    path.write_text("\n".join(lines) + "\n")

    (upstream / "solutions" / "ex10_new.py").write_text(
        SOURCE.replace("Exercise 9.", "Exercise 10.")
    )
    (upstream / "exercises" / "ex10_new.py").write_text("")
    git(upstream, "add", "-A")
    git(upstream, "commit", "-qm", "a new lesson")
    git(mine, "pull", "-q")

    reworded = SOURCE.replace("Return half.", "Return one half of it.")
    (upstream / "exercises" / "ex09_small.py").write_text(source.stub(reworded))
    git(upstream, "commit", "-qam", "other words")
    git(mine, "pull", "-q", "--autostash", "--rebase")
    text = path.read_text()
    assert "    return 2 * n" in text
    assert "Return one half of it." in text
    assert (mine / "exercises" / "ex10_new.py").exists()


@pytest.mark.parametrize("stem", source.stems())
def test_every_stub_is_what_its_source_gives_but_for_the_solutions(stem):
    text = (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
    stub = source.stub(text)
    ast.parse(stub)
    added = [
        line[2:]
        for line in difflib.ndiff(text.splitlines(), stub.splitlines())
        if line.startswith("+ ") and line[2:].strip()
    ]
    assert all("YOUR CODE" in line or "raise NotImplementedError" in line for line in added)


@pytest.mark.parametrize("task", source.all_tasks().values(), ids=lambda task: task.id)
def test_every_card_names_a_section_that_is_there(task):
    page = (ROOT / "lessons" / task.lesson).read_text(encoding="utf-8")
    assert f" {task.section}" in page
    assert task.title
    assert 1 <= task.difficulty <= 5
