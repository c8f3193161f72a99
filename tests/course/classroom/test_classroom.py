"""A class: thirty submissions, some of them hostile; reports; the autograder."""

import csv
import html
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from probe import solve_with_a_new_file

from minibatch.course.classroom import grade_class, gradescope
from minibatch.course.classroom.gradescope import export_gradescope
from minibatch.course.classroom.submissions import (
    Submission,
    SubmissionError,
    declared_name,
    safe_name,
    shown,
    submissions,
)
from minibatch.course.exercises import source
from minibatch.course.judging import sandbox
from minibatch.course.judging.judge import Options
from minibatch.course.judging.verdict import (
    ERROR,
    NOT_ATTEMPTED,
    PASSED,
    TIMED_OUT,
    WRONG,
    TestResult,
    Verdict,
)
from minibatch.course.setup import ROOT
from minibatch.course.setup.process import environment_variables

grading = sys.modules["minibatch.course.classroom.grade_class"]
pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]

FILE = "ex03_dynamic_batching.py"
SOLVED = (ROOT / "solutions" / FILE).read_text(encoding="utf-8")
STUB = source.stub(SOLVED)
TRACE = Path(tempfile.gettempdir(), "minibatch-trace")
SANDBOXED = not sandbox.missing()


def ready(body, before=""):
    """A file whose is_ready has this body; 3.2 stays a stub."""
    return (
        STUB
        + f"\n\n{before}\n\ndef is_ready(arrival_times, now, max_batch_size, max_wait):\n"
        + ("".join(f"    {line}\n" for line in body.splitlines()))
    )


# What each is, and what 3.1 comes to: outcome and points of 2.
RIGHT = "return bool(arrival_times) and (len(arrival_times) >= max_batch_size or " + (
    "arrival_times[0] + max_wait <= now)"
)
CLASS = {
    "ada": (SOLVED, PASSED, 2),
    "bela": (ready(RIGHT), PASSED, 2),
    "cleo": (STUB, NOT_ATTEMPTED, 0),
    "dora": (ready("return len(arrival_times) >= max_batch_size"), WRONG, 1),
    "emil": (ready("return True"), WRONG, 1),
    "finn": (ready("while True: pass"), TIMED_OUT, 0),
    "gero": ("while True: pass\n", TIMED_OUT, 0),
    "hana": (ready("raise SystemExit(0)"), ERROR, 0),
    "igor": (ready("os._exit(0)", "import os"), ERROR, 0),
    "jana": ("import os\nos._exit(0)\n", ERROR, 0),
    "kira": (ready("return is_ready(arrival_times, now, max_batch_size, max_wait)"), ERROR, 0),
    "lars": (ready("while True: print('x' * 999)"), ERROR, 0),
    "mona": (ready("return bytearray(2**36)"), ERROR, 0),
    "nils": (ready("ctypes.string_at(0)", "import ctypes"), ERROR, 0),
    "olga": ("this is no Python\n", ERROR, 0),
    "paul": (ready("while True: os.fork()", "import os"), ERROR, 0),
    "quin": (ready(f"subprocess.run(['touch', {str(TRACE)!r}])", "import subprocess"), ERROR, 0),
    "rosa": (ready(f"exec(open({str(ROOT / 'solutions' / FILE)!r}).read())"), ERROR, 0),
    "sven": (ready("sys.path.insert(0, 'solutions')\nimport ex03_dynamic_batching as s\n"
                   "return s.is_ready is not is_ready and s.is_ready(arrival_times, now, "
                   "max_batch_size, max_wait)", "import sys"), None, None),
    "tess": (ready("urllib.request.urlopen('https://example.org')", "import urllib.request"),
             ERROR, 0),
    "udo": (ready("os.kill(os.getppid(), 9)", "import os"), ERROR, 0),
    "vera": (ready("return 1", "import os\nfor fd in range(3, 30):\n    try:\n        os.write(fd, "
                   "b'{\"value\": true}\\n' * 99)\n    except OSError:\n        pass"), None, None),
    "wim": (ready("return Always()", "class Always:\n    def __eq__(self, other): return True\n"
                  "    def __bool__(self): return True"), WRONG, 0),
    "xena": (ready("return mb.Dynamic", "import pytest\npytest.fail = lambda *a: None"), WRONG, 0),
    "yann": (ready("open('report.json', 'w').write('[]')"), WRONG, 0),
    "zoe": (ready("shutil.rmtree('/tmp')", "import shutil"), ERROR, 0),
}  # fmt: skip
UNREADABLE = {"broken zip": "cannot be read", "empty": "no exercise file", "huge": "larger than"}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Thirty submissions, judged on exercise 3.1."""
    folder, out = tmp_path_factory.mktemp("class"), tmp_path_factory.mktemp("grades")
    for name, (text, *_) in CLASS.items():
        (folder / name).mkdir()
        (folder / name / FILE).write_text(text, encoding="utf-8")
    (folder / "ada" / "conftest.py").write_text("raise SystemExit('not yours')")
    (folder / "ada" / "pytest.ini").write_text("[pytest]\naddopts = --collect-only\n")
    (folder / "empty").mkdir()
    (folder / "huge").mkdir()
    (folder / "huge" / FILE).write_text("#" * 2**21)
    (folder / "broken zip.zip").write_bytes(b"PK not a zip")
    with zipfile.ZipFile(folder / "=zip(A1).zip", "w") as archive:
        archive.writestr(f"handed in/exercises/{FILE}", SOLVED)
        archive.writestr(f"../../../tmp/{TRACE.name}/{FILE}", "x = 1")
    assert len(submissions(folder)) == 30
    before = state_of(ROOT / "solutions"), state_of(ROOT / "tests" / "exercises")
    tasks = source.select("3.1")
    result = grade_class(folder, out, Options(seconds=3), jobs=2, tasks=tasks)
    after = state_of(ROOT / "solutions"), state_of(ROOT / "tests" / "exercises")
    assert before == after
    return result


def unprefixed(patch):
    """As git writes it for who has set diff.noprefix."""
    return re.sub(r"(?m)^(diff --git |--- |\+\+\+ )[ab]/(\S+)( b/)?", r"\1\2\3", patch).replace(
        " b/minibatch", " minibatch"
    )


def state_of(folder):
    files = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return {path: path.stat().st_mtime_ns for path in files if path.is_file()}


def row(graded, name):
    (student,) = [student for student in graded.students if student.name == name]
    return student


@pytest.mark.skipif(not SANDBOXED, reason="hostile submissions need a sandbox")
@pytest.mark.parametrize("name", CLASS)
def test_every_row_of_a_class_is_right(graded, name):
    _, outcome, points = CLASS[name]
    (verdict,) = row(graded, name).verdicts
    if outcome is None:  # an attack whose end is not fixed: it must not pass
        assert not verdict.passed
        assert verdict.points < 2
    else:
        assert (verdict.outcome, verdict.points) == (outcome, points), verdict.first_problem


@pytest.mark.skipif(not SANDBOXED, reason="hostile submissions need a sandbox")
def test_no_attack_leaves_a_trace(graded):
    assert not TRACE.exists()


@pytest.mark.parametrize(("name", "says"), UNREADABLE.items())
def test_what_cannot_be_judged_is_a_row_with_the_reason(graded, name, says):
    assert says in row(graded, name).note
    assert row(graded, name).points == 0


def test_a_zip_is_read_wherever_the_files_lie_in_it_and_written_nowhere_else(graded):
    assert row(graded, "=zip(A1)").points == 2


def test_the_table_has_every_student_and_no_formula(graded):
    with (graded.out / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30
    assert not any(row["student"].startswith("=") for row in rows)
    by_name = {row["student"]: row for row in rows}
    assert (by_name["ada"]["3.1"], by_name["ada"]["3.1 outcome"]) == ("2", "passed")
    assert by_name["ada"]["of"] == "2"
    assert "ex01_" in by_name["empty"]["note"]


def test_the_class_page_names_the_commonest_misconception_and_links_to_every_student(graded):
    page = (graded.out / "class.html").read_text(encoding="utf-8")
    assert graded.misconception(graded.tasks[0])
    for student in graded.students:
        assert f"students/{student.safe_name}.html" in page
        assert (graded.out / "students" / f"{student.safe_name}.html").is_file()
    data = json.loads((graded.out / "grades.json").read_text(encoding="utf-8"))
    assert [entry["student"] for entry in data] == [s.name for s in graded.students]


def test_a_student_s_page_tells_what_was_wrong_and_runs_nothing(graded):
    page = (graded.out / "students" / "dora.html").read_text(encoding="utf-8")
    sentence = row(graded, "dora").verdicts[0].first_problem.sentence
    assert sentence in html.unescape(page)
    assert "default-src 'none'" in page


def test_a_run_stops_after_three_tasks_that_never_end(tmp_path):
    folder = tmp_path / "class" / "slow"
    folder.mkdir(parents=True)
    for stem in source.stems():
        (folder / f"{stem}.py").write_text("while True: pass\n")
    result = grade_class(tmp_path / "class", tmp_path / "out", Options(seconds=1), jobs=1)
    (slow,) = result.students
    assert "3 tasks" in slow.note
    assert slow.points == 0


def test_an_empty_class_is_refused(tmp_path):
    with pytest.raises(ValueError, match="submission"):
        grade_class(tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "", "<b>", "x" * 300, "é", "con\n", "con", "李雷", "\udcff"]
)
def test_a_name_is_made_safe_for_a_file(name):
    safe = safe_name(name)
    assert safe
    assert len(safe) <= 80
    assert all(c.isalnum() or c in "._-" for c in safe)
    assert safe.lower() not in ("con", "")


def test_links_pipes_and_bombs_in_a_submission_are_not_followed(tmp_path):
    folder, copy = tmp_path / "s", tmp_path / "copy"
    folder.mkdir()
    copy.mkdir()
    (folder / "ex01_link.py").symlink_to(ROOT / "solutions" / FILE)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "ex02_pipe.py")
    with pytest.raises(SubmissionError, match="no exercise file"):
        Submission("s", "s", folder).copy_to(copy)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FILE, b"#" * 2**26)
    (tmp_path / "bomb.zip").write_bytes(bomb.getvalue())
    with pytest.raises(SubmissionError, match="larger than"):
        Submission("bomb", "bomb", tmp_path / "bomb.zip").copy_to(copy)
    assert list(copy.iterdir()) == []


def names_in(tmp_path, *parts):
    folder = tmp_path / "class"
    folder.mkdir()
    for part in parts:
        (folder / part).mkdir() if "." not in part else (folder / part).write_bytes(b"")
    return [(s.name, s.safe_name) for s in submissions(folder)]


def test_no_two_students_share_a_row_or_a_page(tmp_path):
    found = names_in(tmp_path, "Anna", "Anna.zip", "anna-2", "Anna_zip", "???", "!!!")
    assert len({name for name, _ in found}) == 6
    assert len({safe.casefold() for _, safe in found}) == 6
    assert ("Anna.zip", "Anna.zip") in found


def test_a_name_of_any_bytes_can_be_written(tmp_path):
    (tmp_path / "class").mkdir()
    os.mkdir(os.fsencode(tmp_path / "class") + b"/caf\xe9\x1b[2J")
    (found,) = submissions(tmp_path / "class")
    found.name.encode()
    assert found.name.isprintable()
    assert shown("na\nme\u202e") == "na me\\u202e"


def test_what_lies_in_the_class_s_folder_has_a_row_whatever_it_is(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / FILE).write_text(SOLVED)
    (folder / "nb.ipynb").write_text("{}")
    (folder / "old.7z").write_bytes(b"7z")
    (folder / "link").symlink_to(ROOT / "solutions")
    with tarfile.open(folder / "tina.tar.gz", "w:gz") as archive:
        archive.add(ROOT / "solutions" / FILE, f"tina/{FILE}")
    result = grade_class(folder, tmp_path / "out", jobs=1, tasks=source.select("3.1"))
    notes = {student.name: student.note for student in result.students}
    assert "it is a single file" in notes[Path(FILE).stem]
    assert "it is a single file" in notes["nb"]
    assert ".7z" in notes["old"]
    assert "a link" in notes["link"]
    assert "the course's own solution" in notes["tina"]
    assert [s.points for s in result.students if s.name == "tina"] == [2]


def test_a_copy_of_the_whole_course_is_nobody_s_work(tmp_path):
    folder = tmp_path / "class" / "lazy"
    for part in ("exercises", "solutions", "minibatch"):
        keep = shutil.ignore_patterns("__pycache__", "weights")
        shutil.copytree(ROOT / part, folder / "course" / part, ignore=keep)
    tasks = source.select("3.1") + source.select("4.3")
    result = grade_class(tmp_path / "class", tmp_path / "out", jobs=1, tasks=tasks)
    (lazy,) = result.students
    assert lazy.points == 0
    assert {verdict.outcome for verdict in lazy.verdicts} == {NOT_ATTEMPTED}


PATCHED = (ROOT / "solutions" / source.PATCH).read_text(encoding="utf-8")
EVIL = """
diff --git a/minibatch/course/judging/sandbox.py b/minibatch/course/judging/sandbox.py
--- a/minibatch/course/judging/sandbox.py
+++ b/minibatch/course/judging/sandbox.py
@@ -1,1 +1,2 @@
+raise SystemExit("a judge of my own")
 LINE
diff --git a/minibatch/core/link.py b/minibatch/core/link.py
new file mode 120000
--- /dev/null
+++ b/minibatch/core/link.py
@@ -0,0 +1 @@
+/etc/passwd
\\ No newline at end of file
"""


@pytest.mark.parametrize("edit", [lambda text: text, unprefixed], ids=["git", "noprefix"])
def test_a_patch_counts_in_the_engine_s_rooms_alone(tmp_path, edit):
    first = Path(sandbox.__file__).read_text(encoding="utf-8").splitlines()[0]
    folder = tmp_path / "class" / "eve"
    folder.mkdir(parents=True)
    for stem in source.stems():
        text = (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
        (folder / f"{stem}.py").write_text(source.stub(text), encoding="utf-8")
    (folder / source.PATCH).write_text(edit(PATCHED + EVIL.replace("LINE", first)))
    result = grade_class(tmp_path / "class", tmp_path / "out", jobs=1, tasks=source.select("4.3"))
    (eve,) = result.students
    assert (eve.points, "judging/sandbox.py" in eve.note) == (5, True), eve


def test_memory_s_exercises_and_both_changes_to_the_engine_count_each_for_itself(tmp_path):
    """All of 05 and 07 and the probe of 4.3: solved, stubs, and one change without the other."""
    tasks = source.select("ex05") + source.select("ex07") + source.select("4.3")
    files = {task.file_name: (ROOT / "solutions" / task.file_name).read_text() for task in tasks}
    stubs = {name: source.stub(text) for name, text in files.items()}
    _, probe, reason = re.split(r"(?m)^(?=Exercise \d)", PATCHED)
    handed_in = {
        "both": (files, PATCHED),
        "stubs": (stubs, ""),
        "probe alone": (stubs, probe),
        "reason alone": (stubs, reason),
    }
    for name, (texts, patch) in handed_in.items():
        (tmp_path / "class" / name).mkdir(parents=True)
        for file, text in texts.items():
            (tmp_path / "class" / name / file).write_text(text, encoding="utf-8")
        if patch:
            (tmp_path / "class" / name / source.PATCH).write_text(patch, encoding="utf-8")
    result = grade_class(tmp_path / "class", tmp_path / "out", jobs=1, tasks=tasks)
    points = {
        student.name: {v.task: v.points for v in student.verdicts} for student in result.students
    }
    assert points["both"] == {task.id: task.points for task in tasks}
    earned = {name: {t: p for t, p in of.items() if p} for name, of in points.items()}
    assert (earned["stubs"], earned["probe alone"]) == ({}, {"4.3": 5})
    assert earned["reason alone"] == {"7.4": 5}


def test_engine_files_themselves_will_do_where_there_is_no_git(tmp_path):
    """What `handin` packs from a ZIP download; a new file of one's own is among them."""
    folder = tmp_path / "class" / "zippy"
    for room in ("core", "engine", "memory"):
        shutil.copytree(ROOT / "minibatch" / room, folder / "minibatch" / room)
    solve_with_a_new_file(folder)
    (folder / FILE).write_text(STUB)
    result = grade_class(tmp_path / "class", tmp_path / "out", jobs=1, tasks=source.select("4.3"))
    assert result.students[0].points == 5, result.students[0].verdicts[0].first_problem.sentence


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch):
    for name in "abcd":
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / FILE).write_text(SOLVED)
    judged = []

    def stopped_at_the_third(tasks, folder, options):
        judged.append(folder)
        if len(judged) == 3:
            raise KeyboardInterrupt
        return grading_judge(tasks, folder, options)

    grading_judge = grading.judge
    monkeypatch.setattr(grading, "judge", stopped_at_the_third)
    how = {"jobs": 1, "tasks": source.select("3.1")}
    first = grade_class(tmp_path / "class", tmp_path / "out", **how)
    assert 0 < first.num_open < 4
    assert "The same command continues with" in first.summary()
    second = grade_class(tmp_path / "class", tmp_path / "out", **how)
    assert [s.points for s in second.students] == [2, 2, 2, 2]
    num_judged = len(judged)
    (tmp_path / "class" / "b" / FILE).write_text(STUB)
    third = grade_class(tmp_path / "class", tmp_path / "out", **how)
    assert [s.points for s in third.students] == [2, 0, 2, 2]
    assert len(judged) == num_judged + 1


def test_a_fault_of_the_judge_is_not_kept(tmp_path, monkeypatch):
    (tmp_path / "class" / "a").mkdir(parents=True)
    (tmp_path / "class" / "a" / FILE).write_text(SOLVED)
    how = {"jobs": 1, "tasks": source.select("3.1")}
    with monkeypatch.context() as full_disk:

        def no_space(*arguments, **options):
            raise OSError(28, "No space left on device")

        full_disk.setattr(grading, "judge", no_space)
        (first,) = grade_class(tmp_path / "class", tmp_path / "out", **how).students
    assert "could not be judged" in first.note
    with monkeypatch.context() as fails:

        def failed(tasks, folder, options):
            result = TestResult("t", "t", 2, ERROR, codes=["grader_failed"])
            return [Verdict("3.1", "", FILE, [result])]

        fails.setattr(grading, "judge", failed)
        (second,) = grade_class(tmp_path / "class", tmp_path / "out", **how).students
    assert "run the same command again" in second.note
    (third,) = grade_class(tmp_path / "class", tmp_path / "out", **how).students
    assert third.points == 2


def test_a_pipe_among_the_submissions_holds_up_nobody(tmp_path):
    (tmp_path / "class").mkdir()
    os.mkfifo(tmp_path / "class" / "pipe.zip")
    (found,) = submissions(tmp_path / "class")
    with pytest.raises(SubmissionError, match="neither a file nor a folder"):
        found.copy_to(tmp_path)


@pytest.mark.parametrize("kind", ["folder", "zip", "tar.gz"])
def test_hidden_folders_do_not_count(tmp_path, kind):
    folder = tmp_path / "class" / "bea"
    for part in (".venv/lib", "course/lessons/images", "course/exercises"):
        (folder / part).mkdir(parents=True)
    for n in range(3000):
        (folder / ".venv" / "lib" / f"m{n}.py").touch()
        (folder / "course" / "lessons" / "images" / f"{n}.svg").touch()
    (folder / "course" / "exercises" / FILE).write_text(SOLVED)
    if kind != "folder":
        shutil.make_archive(str(folder), {"zip": "zip", "tar.gz": "gztar"}[kind], folder)
        shutil.rmtree(folder)
    (found,) = submissions(tmp_path / "class")
    assert found.copy_to(tmp_path) == [FILE]
    assert (tmp_path / FILE).read_text() == SOLVED


def test_a_solution_with_other_comments_is_still_the_course_s_own(tmp_path):
    folder, copy = tmp_path / "class" / "s", tmp_path / "copy"
    folder.mkdir(parents=True)
    copy.mkdir()
    (folder / FILE).write_text("# mine\n\n" + SOLVED + "\n")
    assert Submission("s", "s", folder).copy_to(copy) == [FILE]
    (folder / FILE).write_text(SOLVED + "\nmore = 1\n")
    assert Submission("s", "s", folder).copy_to(copy) == []
    (folder / FILE).write_text("(" * 10_000)
    assert Submission("s", "s", folder).copy_to(copy) == []


def test_a_declared_name_is_one_line(tmp_path):
    (tmp_path / "name.txt").write_text("Mallory\nada  99 of 99\r\n")
    assert declared_name(tmp_path) == "Mallory ada 99 of 99"


def test_a_computer_without_a_sandbox_refuses(tmp_path, monkeypatch):
    (tmp_path / "class" / "a").mkdir(parents=True)
    (tmp_path / "class" / "a" / FILE).write_text(SOLVED)
    monkeypatch.setattr(sandbox, "NEEDED", ("a moat",))
    with pytest.raises(ValueError, match="a moat"):
        grade_class(tmp_path / "class", tmp_path / "out")
    result = grade_class(
        tmp_path / "class", tmp_path / "out", tasks=source.select("3.1"), no_sandbox=True
    )
    assert result.students[0].points == 2
    assert "a moat" in (tmp_path / "out" / "class.html").read_text(encoding="utf-8")
    assert gradescope.main([str(tmp_path / "class" / "a"), str(tmp_path / "results.json")]) == 0
    results = json.loads((tmp_path / "results.json").read_text())
    assert "a moat" in results["output"]
    assert results["score"] == 0


def test_an_archive_of_a_thousand_files_costs_the_class_nothing(tmp_path):
    resource = pytest.importorskip("resource", reason="Windows does not tell the most memory used")
    (tmp_path / "class").mkdir()
    with zipfile.ZipFile(tmp_path / "class" / "big.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(1500):
            archive.writestr(f"{n}/helper_{n}.py", b"#" * 2**20)
        archive.writestr(f"deep/{FILE}", SOLVED)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (found,) = submissions(tmp_path / "class")
    with pytest.raises(SubmissionError, match="bytes together"):
        found.copy_to(tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 50 * 1024


HIDDEN = """
import pytest
from minibatch.course.judging.verdict import Wrong


@pytest.mark.task("3.1", points=3)
def test_a_secret_case(student):
    if student.call("is_ready", [0.0], 9.0, 4, 1.0625) is not True:
        raise Wrong("the secret sentence")
"""


def test_hidden_tests_count_and_stay_hidden(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "test_mine.py").write_text(HIDDEN)
    for name in ("dora", "ada"):
        (tmp_path / "class" / name).mkdir(parents=True)
        text = (
            CLASS[name][0] + "\nwas = is_ready\ndef is_ready(*a):\n    print(a)\n    return was(*a)"
        )
        (tmp_path / "class" / name / FILE).write_text(text, encoding="utf-8")
    (tmp_path / "class" / "eve").mkdir()
    text = ready("if max_wait == 1.0625: return False\n" + RIGHT)  # fails the secret test alone
    (tmp_path / "class" / "eve" / FILE).write_text(text, encoding="utf-8")
    result = grade_class(
        tmp_path / "class",
        tmp_path / "out",
        Options(hidden=tmp_path / "hidden", seconds=5),
        tasks=source.select("3.1"),
    )
    ada, dora, eve = result.students
    assert eve.points == 2
    assert "secret" not in (tmp_path / "out" / "class.html").read_text(encoding="utf-8")
    assert (ada.points, dora.points) == (5, 1)
    pages = [(tmp_path / "out" / "students" / f"{s}.html").read_text() for s in ("ada", "dora")]
    assert "hidden tests: 1 of 1 passed" in pages[0]
    assert "hidden tests: 0 of 1 passed" in pages[1]
    assert "✓ passed" in pages[0]
    for page in pages:
        assert "secret" not in page
        assert "1.0625" not in page
        assert "What your code printed" in page
    assert "of 5" in result.summary()


def run_autograder(root, *, python=sys.executable):
    variables = {
        **environment_variables(),
        "AUTOGRADER_ROOT": str(root),
        "AUTOGRADER_PYTHON": python,
        "PYTHONPATH": "",
    }
    script = root / "source" / "run_autograder"
    subprocess.run(["bash", script], env=variables, cwd=root, check=True, timeout=600)
    return json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))


@pytest.mark.skipif(os.name == "nt", reason="Gradescope runs Linux")
def test_the_gradescope_zip_runs_in_an_empty_folder(tmp_path):
    export_gradescope(tmp_path / "autograder.zip")
    with zipfile.ZipFile(tmp_path / "autograder.zip") as archive:
        assert {"setup.sh", "run_autograder"} <= set(archive.namelist())
        archive.extractall(tmp_path / "source")
    submission = tmp_path / "submission"
    submission.mkdir()
    for stem in source.stems():
        text = (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8")
        solved = stem.startswith("ex03")
        (submission / f"{stem}.py").write_text(text if solved else source.stub(text))
    results = run_autograder(tmp_path)
    tests = results["tests"]
    assert sum(test["max_score"] for test in tests) == sum(
        task.points for task in source.all_tasks().values()
    )
    for test in tests:
        mine = test["name"].startswith("3.")
        assert test["status"] == ("passed" if mine else "failed")
        assert test["score"] == (test["max_score"] if mine else 0)
        assert test["visibility"] == "visible"
        assert isinstance(test["output"], str)

    for path in submission.iterdir():
        path.unlink()
    assert "no exercise file" in run_autograder(tmp_path)["output"]
    crashed = run_autograder(tmp_path, python="/bin/false")
    assert crashed["score"] == 0
    assert "did not finish" in crashed["output"]
