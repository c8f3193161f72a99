"""The second pull: what a learner wrote and ran meets what the course has changed meanwhile."""

import io
import json
import shutil
import subprocess
import zipfile

import pytest
from committed import committed

from minibatch.course.changes import learner_edits, update
from minibatch.course.changes.lesson_file import METADATA, bare, read, written
from minibatch.course.setup import ROOT, git
from minibatch.course.setup.conflict_marks import marked_files
from minibatch.course.setup.findings import SetupError

LESSON = "lessons/04_small.ipynb"
EXERCISE = "exercises/ex04_small.py"
ENGINE = "minibatch/engine.py"
STUB = """import math


def one():
    # YOUR CODE for Exercise 4.1 begins here
    raise NotImplementedError("Exercise 4.1: One: not written yet")
    # YOUR CODE for Exercise 4.1 ends here


def two():
    # YOUR CODE for Exercise 4.2 begins here
    raise NotImplementedError("Exercise 4.2: Two: not written yet")
    # YOUR CODE for Exercise 4.2 ends here
"""
SOLVED = STUB.replace('raise NotImplementedError("Exercise 4.1: One: not written yet")', "return 1")


def cell(name, text, outputs=()):
    outputs = [{"name": "stdout", "output_type": "stream", "text": [line]} for line in outputs]
    count = 7 if outputs else None
    return {"cell_type": "code", "execution_count": count, "id": name, "metadata": {},
            "outputs": outputs, "source": text.splitlines(keepends=True)}  # fmt: skip


def lesson(*cells):
    return written({"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5})


THREE = (cell("one", "1"), cell("two", "2"), cell("three", "3"))
RAN = (cell("one", "1", ["ran 1"]), cell("two", "2", ["ran 2"]), cell("three", "3", ["ran 3"]))


def run_git(folder, *arguments, check=True):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def publish(upstream, **files):
    names = {"lesson": LESSON, "exercise": EXERCISE, "engine": ENGINE}
    for name, text in files.items():
        (upstream / names.get(name, name)).write_text(text)
    run_git(upstream, "add", "-A")
    run_git(upstream, "commit", "-qm", "New")


@pytest.fixture
def upstream(tmp_path, monkeypatch):
    """The course's own repository."""
    monkeypatch.setenv("HOME", str(tmp_path))
    root = tmp_path / "upstream"
    for folder in ("lessons", "exercises", "minibatch/course/changes", "solutions"):
        (root / folder).mkdir(parents=True)
    run_git(tmp_path, "init", "-q", "-b", "main", str(root))
    (root / "requirements.txt").write_text("")
    (root / "minibatch/__main__.py").write_text("")
    (root / "solutions/ex04_small.py").write_text("")
    shutil.copy(ROOT / ".gitattributes", root)
    shutil.copy(ROOT / git._FILTER, root / git._FILTER)
    publish(root, lesson=lesson(*THREE), exercise=STUB, engine="a = 1\n\n\n\nb = 2\n")
    return root


@pytest.fixture
def clone(upstream, tmp_path):
    """A learner's clone."""
    run_git(tmp_path, "clone", "-q", str(upstream), str(tmp_path / "my course"))
    return tmp_path / "my course"


def cells_of(root):
    notebook = read((root / LESSON).read_text())
    return [
        ("".join(cell["source"]), *(output["text"][0] for output in cell["outputs"]))
        for cell in notebook["cells"]
    ]


def backup(root, path):
    (copy,) = (root / "backups").iterdir()
    return (copy / path).read_text()


def test_outputs_stay_where_the_course_has_changed_a_neighbouring_cell(upstream, clone, capsys):
    (clone / LESSON).write_text(lesson(*RAN))
    publish(upstream, lesson=lesson(THREE[0], cell("two", "two, better"), THREE[2]))
    assert update.main([], clone) == 0
    assert cells_of(clone) == [("1", "ran 1"), ("two, better",), ("3", "ran 3")]
    assert run_git(clone, "rev-parse", "HEAD") == run_git(upstream, "rev-parse", "HEAD")
    out = capsys.readouterr().out
    assert "1 new commit" in out
    assert LESSON in out
    assert "Not all" not in out


def test_with_the_filter_outputs_are_no_change_for_git_and_a_plain_pull_leaves_no_marks(
    upstream, clone
):
    git.set_filter(clone)
    (clone / LESSON).write_text(lesson(*RAN))
    assert run_git(clone, "diff") == ""
    publish(upstream, lesson=lesson(THREE[0], cell("two", "better"), THREE[2], cell("four", "4")))
    run_git(clone, "pull", "-q", "--autostash", "--rebase")
    assert ("better",) in cells_of(clone)


def test_with_the_filter_a_cell_of_ones_own_is_committed_without_outputs(clone):
    git.set_filter(clone)
    (clone / LESSON).write_text(lesson(*RAN, cell("abcdef01", "mine", ["ran"])))
    run_git(clone, "commit", "-qam", "A cell of my own")
    kept = run_git(clone, "show", f"HEAD:{LESSON}")
    assert "mine" in kept
    assert "ran" not in kept


@pytest.mark.parametrize("path", sorted((ROOT / "lessons").glob("*.ipynb")), ids=lambda p: p.stem)
def test_the_filter_leaves_the_courses_lessons_as_they_are(path):
    text = committed(path)
    assert written(bare(read(text))) == text


def test_cells_added_changed_and_removed_by_the_learner_stay_so(upstream, clone):
    changed, added = cell("one", "1 + 1", ["2"]), cell("0a1b2c3d", "mine", ["ran"])
    (clone / LESSON).write_text(lesson(changed, added, RAN[2]))
    publish(upstream, lesson=lesson(*THREE[:2], cell("three", "3, better"), cell("four", "4")))
    assert update.main([], clone) == 0
    assert cells_of(clone) == [("1 + 1", "2"), ("mine", "ran"), ("3, better",), ("4",)]


def test_where_both_changed_a_cell_the_courses_stands_and_the_learners_is_beside(
    upstream, clone, capsys
):
    (clone / LESSON).write_text(lesson(cell("one", "mine"), *RAN[1:]))
    publish(upstream, lesson=lesson(cell("one", "better"), *THREE[1:]))
    assert update.main([], clone) == 0
    assert cells_of(clone) == [("better",), ("2", "ran 2"), ("3", "ran 3")]
    assert "mine" in backup(clone, LESSON)
    out = capsys.readouterr().out
    assert f'{LESSON}: the course\'s version is used in the cell "one"' in out
    assert str(clone / "backups") in out


def test_solved_exercises_and_edits_in_the_engine_are_merged(upstream, clone):
    (clone / EXERCISE).write_text(SOLVED)
    (clone / ENGINE).write_text("a = 1\n\n\n\nb = 'mine'\n")
    (clone / "minibatch/own.py").write_text("own = 1\n")
    publish(upstream, exercise="# reworded\n" + STUB, engine="a = 'new'\n\n\n\nb = 2\n")
    assert update.main([], clone) == 0
    assert (clone / EXERCISE).read_text() == "# reworded\n" + SOLVED
    assert (clone / ENGINE).read_text() == "a = 'new'\n\n\n\nb = 'mine'\n"
    assert (clone / "minibatch/own.py").exists()


def test_a_solved_place_is_carried_into_a_stub_that_changed_there(upstream, clone, capsys):
    (clone / EXERCISE).write_text(SOLVED)
    publish(upstream, exercise=STUB.replace("One", "First"))
    assert update.main([], clone) == 0
    assert (clone / EXERCISE).read_text() == SOLVED
    assert "Not all" not in capsys.readouterr().out


def test_an_exercise_file_without_marks_stays_the_learners(upstream, clone, capsys):
    (clone / EXERCISE).write_text("def one():\n    return 1\n")
    publish(upstream, exercise=STUB.replace("def one", "def first").replace("One", "First"))
    assert update.main([], clone) == 0
    assert (clone / EXERCISE).read_text() == "def one():\n    return 1\n"
    assert "your file stays unchanged" in capsys.readouterr().out
    assert "def first" in backup(clone, f"of-the-course/{EXERCISE}")


def test_an_edit_that_does_not_fit_is_beside_a_file_that_runs(upstream, clone, capsys):
    (clone / ENGINE).write_text("a = 'mine'\n\n\n\nb = 2\n")
    publish(upstream, engine="a = 'new'\n\n\n\nb = 2\n")
    assert update.main([], clone) == 0
    assert (clone / ENGINE).read_text() == "a = 'new'\n\n\n\nb = 2\n"
    assert "mine" in backup(clone, ENGINE)
    assert ENGINE in capsys.readouterr().out


def test_commits_of_the_learners_own_are_kept_in_a_branch_and_in_the_files(upstream, clone, capsys):
    (clone / EXERCISE).write_text(SOLVED)
    (clone / "exercises/helper.py").write_text("x = 1\n")
    run_git(clone, "add", "-A")
    run_git(clone, "commit", "-qm", "Solved")
    (clone / "minibatch/staged.py").write_text("x = 1\n")
    run_git(clone, "add", "-A")
    publish(upstream, lesson=lesson(*THREE[:2]))
    assert update.main([], clone) == 0
    assert (clone / EXERCISE).read_text() == SOLVED
    assert (clone / "exercises/helper.py").exists()
    assert (clone / "minibatch/staged.py").exists()
    branch = run_git(clone, "branch", "--list", "before-update-*").strip()
    assert branch in capsys.readouterr().out
    assert "Solved" in run_git(clone, "log", "-1", branch)


def test_a_file_of_ones_own_where_the_course_puts_one_is_not_lost(upstream, clone):
    (clone / "minibatch/probe.py").write_text("mine\n")
    publish(upstream, **{"minibatch/probe.py": "the course's\n"})
    assert update.main([], clone) == 0
    assert (clone / "minibatch/probe.py").read_text() == "the course's\n"
    assert backup(clone, "minibatch/probe.py") == "mine\n"


def test_a_file_that_the_course_drops_goes_and_an_edited_one_is_kept_beside(upstream, clone):
    (clone / ENGINE).write_text("mine\n")
    (upstream / ENGINE).unlink()
    publish(upstream)
    assert update.main([], clone) == 0
    assert not (clone / ENGINE).exists()
    assert backup(clone, ENGINE) == "mine\n"


def test_nothing_new_is_said_and_changes_nothing(clone, capsys):
    (clone / LESSON).write_text(lesson(*RAN))
    assert update.main([], clone) == 0
    assert (clone / LESSON).read_text() == lesson(*RAN)
    assert "Nothing new" in capsys.readouterr().out
    assert not (clone / "backups").exists()


def test_without_a_network_nothing_is_changed_and_that_is_said(upstream, clone):
    (clone / LESSON).write_text(lesson(*RAN))
    upstream.rename(upstream.with_name("gone"))
    with pytest.raises(SetupError, match="git fetch"):
        update.main([], clone)
    assert (clone / LESSON).read_text() == lesson(*RAN)


@pytest.fixture
def muddle(upstream, clone):
    """A clone as `git pull --autostash --rebase` leaves it, with status 0."""
    (clone / LESSON).write_text(lesson(*RAN, cell("0a1b2c3d", "mine", ["ran"])))
    (clone / EXERCISE).write_text(SOLVED)
    publish(
        upstream,
        lesson=lesson(THREE[0], cell("two", "better"), THREE[2], cell("four", "4")),
        exercise=STUB.replace("One", "First"),
    )
    run_git(clone, "pull", "-q", "--autostash", "--rebase")
    with pytest.raises(json.JSONDecodeError):
        json.loads((clone / LESSON).read_text())
    return clone


@pytest.mark.parametrize("forgotten", [False, True], ids=["unmerged", "added since"])
def test_restore_mends_conflict_marks(muddle, forgotten, capsys):
    if forgotten:
        run_git(muddle, "add", "-A")
    assert {path for path, line in marked_files(muddle)} == {LESSON, EXERCISE}
    assert learner_edits.restore_main(["--yes"], muddle) == 0
    assert {("mine", "ran"), ("4",), ("3", "ran 3")} <= set(cells_of(muddle))
    assert (muddle / EXERCISE).read_text() == SOLVED
    assert "<<<<" not in run_git(muddle, "diff", "HEAD")
    assert run_git(muddle, "ls-files", "--unmerged") == ""


def test_an_update_after_such_a_pull_mends_it_too(muddle):
    assert update.main([], muddle) == 0
    wanted = [("1", "ran 1"), ("better",), ("3", "ran 3"), ("mine", "ran"), ("4",)]
    assert cells_of(muddle) == wanted
    assert (muddle / EXERCISE).read_text() == SOLVED
    assert run_git(muddle, "ls-files", "--unmerged") == ""


def test_a_lesson_that_both_have_added_is_settled_too(upstream, clone):
    new = "lessons/05_new.ipynb"
    (clone / new).write_text(lesson(cell("0a1b2c3d", "mine", ["ran"])))
    run_git(clone, "add", new)
    publish(upstream, **{new: lesson(cell("five", "5"))})
    run_git(clone, "pull", "-q", "--autostash", "--rebase")
    assert update.main([], clone) == 0
    sources = ["".join(cell["source"]) for cell in read((clone / new).read_text())["cells"]]
    assert sources == ["mine", "5"]


def test_restore_asks_before_it_mends(muddle, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    before = (muddle / LESSON).read_text()
    assert learner_edits.restore_main([], muddle) == 1
    assert (muddle / LESSON).read_text() == before


def test_in_the_middle_of_a_rebase_nothing_is_touched_and_the_way_out_is_named(upstream, clone):
    (clone / ENGINE).write_text("a = 'mine'\n")
    run_git(clone, "commit", "-qam", "Mine")
    publish(upstream, engine="a = 'new'\n")
    run_git(clone, "pull", "-q", "--rebase", check=False)
    with pytest.raises(SetupError, match="git rebase --abort"):
        update.main([], clone)


# A ZIP download


@pytest.fixture
def download(upstream, tmp_path):
    """The course as a ZIP unpacks: no git."""
    run_git(upstream, "archive", "-o", str(tmp_path / "old.zip"), "--prefix=course-main/", "HEAD")
    with zipfile.ZipFile(tmp_path / "old.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path / "course-main"


def test_a_download_is_told_to_get_the_newer_one(download):
    with pytest.raises(SetupError, match="update --from FILE.zip"):
        update.main([], download)


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_a_newer_download_is_put_over_an_older_one(upstream, download, tmp_path, form, capsys):
    (download / LESSON).write_text(lesson(*RAN, cell("0a1b2c3d", "mine", ["ran"])))
    (download / EXERCISE).write_text(SOLVED)
    (download / ENGINE).write_text("a = 'mine'\n")
    (download / "exercises/helper.py").write_text("x = 1\n")
    publish(
        upstream,
        lesson=lesson(THREE[0], cell("two", "better"), THREE[2]),
        exercise="# reworded\n" + STUB,
        engine="a = 'new'\n",
    )
    new = tmp_path / "new.zip"
    run_git(upstream, "archive", "-o", str(new), "--prefix=course-main/", "HEAD")
    if form == "folder":
        with zipfile.ZipFile(new) as archive:
            archive.extractall(tmp_path / "unpacked")
        new = tmp_path / "unpacked"
    assert update.main(["--from", str(new)], download) == 0
    wanted = [("1", "ran 1"), ("better",), ("3", "ran 3"), ("mine", "ran")]
    assert cells_of(download) == wanted
    assert (download / EXERCISE).read_text() == "# reworded\n" + SOLVED
    assert (download / ENGINE).read_text() == "a = 'new'\n"
    assert backup(download, ENGINE) == "a = 'mine'\n"
    assert (download / "exercises/helper.py").exists()
    assert ENGINE in capsys.readouterr().out


def test_what_is_not_the_course_is_refused(download, tmp_path):
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("photo.txt", "")
    (tmp_path / "broken.zip").write_text("")
    for name, said in {"other": "does not hold the course", "broken": "cannot be read"}.items():
        with pytest.raises(SetupError, match=said):
            update.main(["--from", str(tmp_path / f"{name}.zip")], download)
