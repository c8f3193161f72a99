"""The graders themselves: solutions pass, stubs do not, every known-wrong answer is caught by the
intended test with the intended code, and correct answers of another design pass."""

import ast
import random
import re
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path

import pytest

from minibatch.course.exercises import source
from minibatch.course.judging import sandbox
from minibatch.course.judging.judge import Options, judge
from minibatch.course.judging.verdict import NOT_ATTEMPTED
from minibatch.course.setup import ROOT

pytestmark = pytest.mark.timeout(4800)  # hundreds of answers, each judged in processes of its own
GRADERS = ROOT / "tests" / "exercises"
TASKS = source.all_tasks()
NEEDS_A_SANDBOX = pytest.mark.skipif(
    set(sandbox.supported()) != set(sandbox.PARTS), reason="this system has no full sandbox"
)


@dataclass(frozen=True)
class Answer:
    """A known-wrong or a known-right answer to one task: code that overrides the solved file's, or
    changes lines of it. code: of what the learner is told. of: the known-right answer, by its name,
    of which lines are changed; by default the solved file itself."""

    path: Path
    caught_by: str
    code: str
    of: str
    at_most: float  # points

    @property
    def task(self) -> str:
        return self.path.name.partition("_")[0]

    def into(self, folder: Path) -> None:
        if self.path.suffix == ".patch":  # each of another task: they edit other files
            with (folder / source.PATCH).open("ab") as patch:
                patch.write(self.path.read_bytes())
            return
        if TASKS[self.task].changes_minibatch:
            solved = own_part((ROOT / "solutions" / source.PATCH).read_text("utf-8"), self.task)
            patch = recounted(changed(solved, self.path.read_text("utf-8")))
            with (folder / source.PATCH).open("a", encoding="utf-8") as file:
                file.write(patch)
            return
        file = folder / TASKS[self.task].file_name
        text, own = file.read_text(encoding="utf-8"), self.path.read_text(encoding="utf-8")
        if self.path.suffix == ".change":
            other = GRADERS / "right" / f"{self.task}_{self.of}.py"
            text += "\n\n" + other.read_text(encoding="utf-8") if self.of else ""
            text = changed(text, own)
        else:
            text += "\n\n" + own
        file.write_text(text, encoding="utf-8")


def own_part(patch, task):
    """One task's own part of the solutions' patch."""
    parts = re.split(r"^(?=Exercise \d)", patch, flags=re.MULTILINE)
    (part,) = (part for part in parts if part.startswith(f"Exercise {task}:"))
    return part


def recounted(patch):
    """A patch whose hunks say how long they are, now that there are other lines in them."""
    before, *hunks = re.split(r"^(?=@@ )", patch, flags=re.MULTILINE)
    found = [before]
    for hunk in hunks:
        lines, rest = re.match(r"((?:[-+ @].*\n)*)((?s:.*))", hunk).groups()
        old, new = (len(re.findall(rf"^[ {sign}]", lines, re.MULTILINE)) for sign in "-+")
        counts = rf"@@ -\g<1>,{old} +\g<2>,{new} @@"
        found.append(re.sub(r"@@ -(\d+),\d+ \+(\d+),\d+ @@", counts, lines, count=1) + rest)
    return "".join(found)


CHANGE = re.compile(r"^ {3}(\S.*)\n((?:->.*(?:\n|$))+)", re.MULTILINE)


def changed(solved, change):
    """A solved file with other lines in one function, or in `Class.method`, which `in: name` names;
    the last of that name. Indented by three, a line of it, which stands there once; below, each
    after "-> ", what comes in its place, and "->" alone for nothing. Of a patch, `in: the patch`,
    the lines that it adds."""
    (name,) = re.findall(r"^in: (.+)$", change, re.MULTILINE)
    if name == "the patch":
        return replaced(solved, range(solved.count("\n")), change, "+")
    functions = {}
    for node in ast.parse(solved).body:
        own = getattr(node, "name", "")
        functions[own] = node
        if isinstance(node, ast.ClassDef):
            functions |= {f"{own}.{getattr(n, 'name', '')}": n for n in node.body}
    function = functions[name]
    return replaced(solved, range(function.lineno - 1, function.end_lineno), change)


def replaced(text, region, change, sign=""):
    """A text with other lines in a region of it. sign: what each of them begins with."""
    lines = text.splitlines(keepends=True)
    before = [line.removeprefix(sign).strip() * line.startswith(sign) for line in lines]
    for old, new in CHANGE.findall(change):
        (at,) = (i for i in region if before[i] == old)
        indent = lines[at].removesuffix("\n").removesuffix(old)
        lines[at] = "".join(f"{indent}{each[3:]}\n" for each in new.splitlines() if each != "->")
    return "".join(lines)


def answers(kind):
    found = []
    for path in sorted((GRADERS / kind).iterdir()):
        if path.suffix in (".py", ".patch", ".change"):
            text = path.read_text(encoding="utf-8")
            if "\nneeds: the compiler\n" in text and not find_spec("numba_cuda"):
                continue
            said = dict(re.findall(r"^(caught by|code|of|at most): (\w\S*)", text, re.MULTILINE))
            points = float(said.get("at most", TASKS[path.name.partition("_")[0]].points))
            named = (said.get(each, "") for each in ("caught by", "code", "of"))
            found.append(Answer(path, *named, points))
    return found


WRONG, RIGHT = answers("wrong"), answers("right")
# In the short suite: of each task, one answer that each of its tests catches.
FIRST_OF_ITS_CLASS = {(a.task, a.caught_by): a for a in reversed(WRONG)}.values()


def marked(found):
    return [
        pytest.param(
            answer,
            id=answer.path.stem,
            marks=() if answer in FIRST_OF_ITS_CLASS else pytest.mark.full,
        )
        for answer in found
    ]


def waves(all_answers):
    """One answer to each lesson at a time: an answer must not meet another one in its file, which
    may call what the other defines. Lessons are judged apart, so one run judges many answers."""
    by_lesson = {}
    for answer in all_answers:
        by_lesson.setdefault(answer.task.partition(".")[0], []).append(answer)
    return [[a for a in wave if a] for wave in zip_longest(*by_lesson.values())]


class Verdicts(dict):
    """By answer. A test of an answer that was not judged is skipped."""

    def __missing__(self, answer):
        pytest.skip("not drawn in this run; `python -m minibatch test --slow` judges all answers")


@pytest.fixture(scope="module")
def verdicts(request, pytestconfig, seed_of_run, tmp_path_factory):
    """The verdict of every answer that a test asks for, judged two waves at a time. The whole suite
    judges half of the wrong answers that the short suite leaves out, others for each commit."""
    items = [item for item in request.session.items if "verdicts" in item.fixturenames]
    asked_for = {item.callspec.params["answer"] for item in items}
    in_short = {
        item.callspec.params["answer"] for item in items if not item.get_closest_marker("full")
    }
    wrong, right = ([a for a in found if a in asked_for] for found in (WRONG, RIGHT))
    if pytestconfig.getoption("markexpr") == "not slow":
        others = [answer for answer in wrong if answer not in in_short]
        left_out = set(random.Random(seed_of_run).sample(others, len(others) // 2))
        wrong = [answer for answer in wrong if answer not in left_out]
    return Verdicts(judged(waves(wrong) + waves(right), tmp_path_factory))


def judged(waves, tmp_path_factory, seed=None):
    """The verdict of every answer in these waves."""

    def of(wave, folder):
        not_theirs = shutil.ignore_patterns("__pycache__", source.PATCH)
        shutil.copytree(ROOT / "solutions", folder, dirs_exist_ok=True, ignore=not_theirs)
        for answer in wave:
            answer.into(folder)
        options = Options(seconds=10, seed=seed)
        found = judge([TASKS[answer.task] for answer in wave], folder, options)
        return dict(zip(wave, found, strict=True))

    folders = [tmp_path_factory.mktemp("submission") for _ in waves]  # not safe in threads
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(of, waves, folders)
        return {answer: verdict for wave in results for answer, verdict in wave.items()}


def has_random_cases(test_name):
    """Whether a grader draws cases. Any other one says the same in every run."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in GRADERS.glob("test_ex*.py"))
    return f"def {test_name}(student, rng)" in text


def test_a_change_takes_the_place_of_a_line_that_stands_there_once():
    other = "def other():\n    x = 1\n\n\n"
    solved = other + "def work():\n    x = 1\n    y = 2\n"
    change = "Why.\nin: work\n\n   x = 1\n-> if y:\n->     x = 3\n   y = 2\n->\n"
    assert changed(solved, change) == other + "def work():\n    if y:\n        x = 3\n"
    with pytest.raises(ValueError, match="not enough values"):
        changed(solved, change.replace("y = 2", "y = 3"))


def test_a_change_in_a_method_is_made_in_the_last_class_of_its_name():
    one = "class A:\n    def work(self):\n        return 1\n"
    change = "Why.\nin: A.work\n\n   return 1\n-> return 2\n"
    assert changed(one + one, change) == one + one.replace("return 1", "return 2")


def test_a_patch_with_other_lines_says_how_many_they_are():
    patch = "Exercise 4.3: A\n\n@@ -1,2 +1,3 @@ x\n a\n+    b = 1\n c\n\nExercise 7.4: B\n"
    change = "Why.\nin: the patch\n\n   b = 1\n-> b = 2\n-> d = 3\n"
    assert own_part(patch, "7.4") == "Exercise 7.4: B\n"
    assert recounted(changed(own_part(patch, "4.3"), change)) == (
        "Exercise 4.3: A\n\n@@ -1,2 +1,4 @@ x\n a\n+    b = 2\n+    d = 3\n c\n\n"
    )


@pytest.mark.parametrize("answer", marked(WRONG))
def test_a_wrong_answer_is_caught_as_intended(answer, verdicts):
    problem = verdicts[answer].first_problem
    assert problem is not None, "it passed"
    assert problem.name.partition("[")[0] == answer.caught_by
    assert answer.code in problem.codes, problem.sentence
    assert not re.search(r"\[[a-z0-9]+(_[a-z0-9]+)+\] ", problem.sentence), "a code is told"
    assert verdicts[answer].outcome != NOT_ATTEMPTED
    assert verdicts[answer].points <= answer.at_most


DRAWN, FIXED = "1.4_first_place", "3.1_a_tolerance"  # both tests draw; one fails before it does


@pytest.mark.parametrize(
    "answer", [a for a in WRONG if a.path.stem in (DRAWN, FIXED)], ids=lambda a: a.path.stem
)
def test_the_seed_is_told_of_random_cases_only(answer, verdicts):
    sentence = verdicts[answer].first_problem.sentence
    assert ("random case; --seed" in sentence) == (answer.path.stem == DRAWN)


@pytest.mark.parametrize(
    "answer", [a for a in WRONG if "_fails_" in a.path.stem], ids=lambda a: a.path.stem
)
def test_a_failure_is_told_with_its_input(answer, verdicts):
    assert re.search(r"[\[(].*[\])].* fails with", verdicts[answer].first_problem.sentence)


@pytest.mark.full
@pytest.mark.parametrize("answer", RIGHT, ids=lambda answer: answer.path.stem)
def test_a_right_answer_of_another_design_passes(answer, verdicts):
    assert verdicts[answer].first_problem is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_no_verdict_depends_on_the_seed(seed, tmp_path_factory):
    wrong = [answer for answer in WRONG if has_random_cases(answer.caught_by)]
    verdicts = judged(waves(wrong) + waves(RIGHT), tmp_path_factory, seed)
    for answer, verdict in verdicts.items():
        problem = verdict.first_problem
        if answer in RIGHT:
            assert problem is None, answer.path.stem
        else:
            assert problem is not None, answer.path.stem
            assert problem.name == answer.caught_by, answer.path.stem
            assert answer.code in problem.codes, answer.path.stem


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_four_wrong_answers_or_more(task):
    assert sum(answer.task == task for answer in WRONG) >= 4


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_two_right_answers_of_another_design(task):
    assert sum(answer.task == task for answer in RIGHT) >= 2


@pytest.mark.parametrize(
    "sandbox",
    [pytest.param(False, marks=pytest.mark.full), pytest.param(True, marks=NEEDS_A_SANDBOX)],
)
def test_the_solutions_earn_every_point(sandbox):
    verdicts = judge(TASKS.values(), ROOT / "solutions", Options(sandbox=sandbox))
    for verdict in verdicts:
        assert verdict.first_problem is None
        assert verdict.points == verdict.max_points == TASKS[verdict.task].points
        assert verdict.yours, "what is theirs now"


def test_stubs_earn_nothing_and_are_not_attempted(tmp_path):
    for stem in source.stems():
        text = (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
        (tmp_path / f"{stem}.py").write_text(source.stub(text), encoding="utf-8")
    verdicts = judge(TASKS.values(), tmp_path)
    assert {verdict.outcome for verdict in verdicts} == {NOT_ATTEMPTED}
    assert sum(verdict.points for verdict in verdicts) == 0


@pytest.mark.full
def test_an_empty_submission_passes_nothing(tmp_path):
    verdicts = judge(TASKS.values(), tmp_path)
    assert {verdict.outcome for verdict in verdicts} == {NOT_ATTEMPTED}
    assert Counter(verdict.points for verdict in verdicts) == {0: len(TASKS)}
