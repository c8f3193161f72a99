"""A class: thirty submissions, some of them hostile; reports; the autograder."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from minibatch.course.classroom import grade_class
from minibatch.course.classroom.gradescope import export_gradescope
from minibatch.course.classroom.submissions import Submission, SubmissionError, submissions
from minibatch.course.exercises import source
from minibatch.course.judging import confinement
from minibatch.course.judging.judge import Options
from minibatch.course.judging.verdict import ERROR, NOT_ATTEMPTED, PASSED, TIMED_OUT, WRONG
from minibatch.course.setup import ROOT
from minibatch.course.setup.process import environment_variables

pytestmark = [pytest.mark.full, pytest.mark.timeout(1200)]

FILE = "ex03_dynamic_batching.py"
SOLVED = (ROOT / "solutions" / FILE).read_text(encoding="utf-8")
STUB = source.stub(SOLVED)
TRACE = Path(tempfile.gettempdir(), "minibatch-trace")
SEALED = set(confinement.what_holds()) == set(confinement.SEAL)


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
    "yann": (ready("open('report.json', 'w').write('[]')"), ERROR, 0),
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


def state_of(folder):
    files = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return {path: path.stat().st_mtime_ns for path in files if path.is_file()}


def row(graded, name):
    (student,) = [student for student in graded.students if student.name == name]
    return student


@pytest.mark.skipif(not SEALED, reason="hostile submissions want a system that can seal them")
@pytest.mark.parametrize("name", CLASS)
def test_every_row_of_a_class_is_right(graded, name):
    _, outcome, points = CLASS[name]
    (verdict,) = row(graded, name).verdicts
    if outcome is None:  # an attack whose end is not fixed: it must not pass
        assert not verdict.passed
        assert verdict.points < 2
    else:
        assert (verdict.outcome, verdict.points) == (outcome, points), verdict.first_problem


@pytest.mark.skipif(not SEALED, reason="hostile submissions want a system that can seal them")
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
    assert by_name["empty"]["note"] == "it holds no exercise file (ex01_….py)"


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
    assert "its whole window" in page
    assert "default-src 'none'" in page


def test_a_run_stops_after_three_tasks_that_never_end(tmp_path):
    folder = tmp_path / "class" / "slow"
    folder.mkdir(parents=True)
    for stem in source.stems():
        (folder / f"{stem}.py").write_text("while True: pass\n")
    result = grade_class(tmp_path / "class", tmp_path / "out", Options(seconds=1), jobs=1)
    (slow,) = result.students
    assert slow.note == "stopped after 3 tasks that never ended"
    assert slow.points == 0


def test_an_empty_class_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no submission"):
        grade_class(tmp_path, tmp_path / "out")


@pytest.mark.parametrize("name", ["../x", "a/b", "", "<b>", "x" * 300, "é", "con\n"])
def test_a_name_is_made_safe_for_a_file(name):
    safe = Submission(name, Path("x")).safe_name
    assert safe
    assert len(safe) <= 80
    assert all(c.isascii() and (c.isalnum() or c in "._-") for c in safe)


def test_links_pipes_and_bombs_in_a_submission_are_not_followed(tmp_path):
    folder, copy = tmp_path / "s", tmp_path / "copy"
    folder.mkdir()
    copy.mkdir()
    (folder / "ex01_link.py").symlink_to(ROOT / "solutions" / FILE)
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "ex02_pipe.py")
    with pytest.raises(SubmissionError, match="no exercise file"):
        Submission("s", folder).copy_to(copy)
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(FILE, b"#" * 2**26)
    (tmp_path / "bomb.zip").write_bytes(bomb.getvalue())
    with pytest.raises(SubmissionError, match="larger than"):
        Submission("bomb", tmp_path / "bomb.zip").copy_to(copy)
    assert list(copy.iterdir()) == []


HIDDEN = """
import pytest
from minibatch.course.judging.verdict import Wrong


@pytest.mark.task("3.1", points=3)
def test_a_secret_case(student):
    if student.call("is_ready", [0.0], 9.0, 4, 1.0) is not True:
        raise Wrong("the secret sentence")
"""


def test_hidden_tests_count_and_stay_hidden(tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "test_mine.py").write_text(HIDDEN)
    for name in ("dora", "ada"):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / FILE).write_text(CLASS[name][0], encoding="utf-8")
    result = grade_class(
        tmp_path / "class",
        tmp_path / "out",
        Options(hidden=tmp_path / "hidden", seconds=5),
        tasks=source.select("3.1"),
    )
    ada, dora = result.students
    assert (ada.points, dora.points) == (5, 1)
    pages = [(tmp_path / "out" / "students" / f"{s}.html").read_text() for s in ("ada", "dora")]
    assert "hidden tests: 1 of 1 passed" in pages[0]
    assert "hidden tests: 0 of 1 passed" in pages[1]
    assert "passed: all public tests" in pages[0]
    for page in pages:
        assert "secret" not in page


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
