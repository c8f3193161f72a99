"""What a learner and a teacher see of the arena: a card, commands, a class's board."""

import csv
import shutil
from pathlib import Path

import pytest

from minibatch import arena
from minibatch.course.arena import run_class as running
from minibatch.course.arena.card import arena_card
from minibatch.course.arena.commands import main
from minibatch.course.arena.play import submit
from minibatch.course.exercises.progress import Progress
from minibatch.course.judging import sandbox

HERE = Path(__file__).parent
FEW = [match for match in arena.matches("engine", (1,)) if match.load == 1.3 and match.mix == "day"]


@pytest.fixture(autouse=True)
def few_matches(monkeypatch, tmp_path):
    """One match in place of 27, and a learner's folder of its own."""

    def few(division, seeds=(1,)):
        return [arena.Match("engine", "day", 1.3, seed) for seed in (seeds or (1,))]

    monkeypatch.setattr(arena, "matches", few)
    folder = tmp_path / "exercises"
    folder.mkdir()
    monkeypatch.setenv("MINIBATCH_EXERCISES", str(folder))
    return folder


def test_the_first_play_writes_a_file_and_plays_it(few_matches):
    card = arena_card()
    assert not (few_matches / "arena_policy.py").exists()
    card.play_button.click()
    assert (few_matches / "arena_policy.py").is_file()
    assert card.played.score.total > 0
    assert "Place" in card.view.value
    assert Progress().arena["engine"]["place"] == card.played.place


def test_an_error_is_shown_with_its_line(few_matches):
    (few_matches / "arena_policy.py").write_text(
        "def make_policy(size, tokens):\n    return 1 / 0\n"
    )
    card = arena_card()
    card.play_button.click()
    assert "ZeroDivisionError" in card.view.value
    assert "line 2" in card.view.value


def test_a_submission_lies_beside_the_exercises(few_matches, tmp_path):
    target, played = submit(HERE / "honest_policy.py")
    assert target == few_matches / "arena_policy.py"
    assert played.score.total > 0
    nothing = tmp_path / "nothing.py"
    nothing.write_text("x = 1\n")
    with pytest.raises(ValueError, match="scores 0"):
        submit(nothing)


def test_commands_say_what_is_wrong_in_a_sentence(tmp_path, capsys):
    path = tmp_path / "mine.py"
    assert main(["play", str(path)]) == 2
    assert main(["new", str(path)]) == 0
    assert main(["new", str(path)]) == 2
    assert main(["run", str(tmp_path / "nowhere")]) == 2
    assert main(["board", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    for words in (
        "there is no file",
        "exists; give another name",
        "no folder",
        "has no arena.json",
    ):
        assert words in errors


def test_a_class_is_not_judged_on_a_computer_without_a_sandbox(monkeypatch, tmp_path, capsys):
    (tmp_path / "class" / "Bob").mkdir(parents=True)
    shutil.copyfile(HERE / "fcfs_policy.py", tmp_path / "class" / "Bob" / "arena_policy.py")
    monkeypatch.setattr(sandbox, "NEEDED", ("a moat",))
    assert main(["run", str(tmp_path / "class"), "--out", str(tmp_path / "board")]) == 2
    assert "a moat" in capsys.readouterr().err
    assert not (tmp_path / "board").exists()


def test_a_class_plays_hidden_seeds_and_gets_a_board(monkeypatch, tmp_path):
    monkeypatch.setattr(running, "NUM_SEEDS", 1)
    monkeypatch.setattr(running.secrets, "token_hex", lambda n: "hidden")  # the same each time
    monkeypatch.setattr(running, "what_is_missing", lambda: "")
    monkeypatch.setattr(running, "SANDBOX", None)  # as this computer has it
    folder, out = tmp_path / "class", tmp_path / "board"
    for name, file in (("=Ada", "honest_policy.py"), ("Bob", "fcfs_policy.py")):
        (folder / name).mkdir(parents=True)
        shutil.copyfile(HERE / file, folder / name / "arena_policy.py")
    (folder / "Eve").mkdir()
    (folder / "Eve" / "arena_policy.py").write_text("def make_policy(*sizes):\n    exit()\n")
    board = running.run_class(folder, out)
    rows = {row["name"]: row for row in running.board_rows(board, "engine")}
    assert [row["place"] for row in rows.values()] == [1, 2, 3]
    assert rows["=Ada"]["hidden"] > rows["Bob"]["hidden"] > rows["Eve"]["hidden"] == 0
    assert rows["Eve"]["error"]
    page = (out / "board.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "")
    with (out / "board.csv").open(newline="") as file:
        assert next(row for row in csv.DictReader(file))["name"] == "'=Ada"

    played = []
    monkeypatch.setattr(running, "play_file", lambda *args, **kw: played.append(args) or [])
    again = running.run_class(folder, out)  # nothing has changed, so nothing is played
    assert (played, again["seeds"]) == ([], board["seeds"])
    running.write_board(out, anonymous=True)
    assert "Ada" not in (out / "board.html").read_text(encoding="utf-8")
