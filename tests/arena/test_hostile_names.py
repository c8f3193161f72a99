"""A submission's folder, its files and its errors may be made to spoil the class's board."""

import csv
import os

import pytest

from minibatch.course.arena import run_class as running
from minibatch.course.classroom.submissions import submissions

FINE = "import minibatch as mb\ndef make_policy(*sizes):\n    return mb.Budget(*sizes)\n"


@pytest.mark.parametrize(
    "folders",
    [(b"Andr\xe9", b"Andr\xe8"), (b"Bob B", b"Bob\nB", b"Bob B-2"), (b"Eve\x1b", b"Eve\\x1b")],
)
def test_two_students_have_two_rows_whatever_the_names_of_their_folders(tmp_path, folders):
    for name in folders:
        os.mkdir(os.fsencode(tmp_path) + b"/" + name)
    names = {submission.name for submission in submissions(tmp_path)}
    assert len(names) == len(folders)
    assert all(name.isprintable() for name in names)


def test_a_file_with_another_helper_is_judged_again(monkeypatch, tmp_path):
    judged = []
    scores = {"public": 1.0, "hidden": 1.0, "error": "", "detail": ""}
    monkeypatch.setattr(running, "_scores", lambda *asked: judged.append(asked) or scores)
    board = {"seeds": ["hidden"], "marks": {}, "students": {}}
    folder = tmp_path / "Zed"
    folder.mkdir()
    (folder / "arena_policy.py").write_text("from helper import make_policy\n")
    for helper, times in ((FINE, 1), (FINE, 1), (FINE + "# changed\n", 2)):
        (folder / "helper.py").write_text(helper)
        (student,) = submissions(tmp_path)
        rows = running._judged(student, board)
        running._note(board["students"].setdefault("Zed", {}), rows)
        assert len(judged) == times


ERROR = 'a;=HYPERLINK(1)\n"\nengine,1,Mallory,9.999,9.999,1,\r\n; "\uff1dcmd\u2028\x85end'


@pytest.mark.parametrize("separator", [",", ";"])
def test_an_error_adds_no_line_and_no_formula_to_the_table(tmp_path, separator):
    row = {"file": "1", "public": 0.0, "hidden": 0.0}
    students = {
        name: {"engine": [row | {"error": ERROR}]} for name in ("Eve", "\uff1d1+1", " =1", "M;@x")
    }
    board = {"seeds": ["hidden"], "marks": {}, "students": students}
    running._write(tmp_path / running.BOARD, running.json.dumps(board))
    table, _ = running.write_board(tmp_path)
    text = table.read_text(encoding="utf-8")
    assert len(text.splitlines()) == 1 + len(students)
    for line in csv.reader(text.splitlines(), delimiter=separator):
        assert [cell for cell in line if cell.strip(' "').startswith(tuple("=+-@\uff1d"))] == []
