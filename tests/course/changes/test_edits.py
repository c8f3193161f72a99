"""`python -m minibatch diff` and `restore`: a learner's edits in minibatch/, shown and undone."""

import io
import subprocess
import sys

import pytest

from minibatch.course.changes import learner_edits
from minibatch.course.setup.findings import SetupError


@pytest.fixture
def repository(tmp_path):
    """A checkout under git with two committed files, one of which a learner has edited."""
    checkout = tmp_path
    package = checkout / "minibatch"
    package.mkdir()
    (package / "engine.py").write_text("theirs\n")
    (package / "blocks.py").write_text("theirs\n")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "As it was"]):
        subprocess.run(["git", "-C", checkout, *command], check=True)
    (package / "engine.py").write_text("mine\n")
    return checkout


def test_diff_shows_what_was_edited_and_names_what_was_added(repository, capfd):
    (repository / "minibatch" / "own.py").touch()
    assert learner_edits.diff_main([], repository) == 0
    out = capfd.readouterr().out
    assert "-theirs" in out
    assert "+mine" in out
    assert "minibatch/own.py" in out


def test_restore_without_yes_changes_nothing_when_it_cannot_ask(repository, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert learner_edits.restore_main([], repository) == 1
    assert (repository / "minibatch" / "engine.py").read_text() == "mine\n"


def test_restore_undoes_edits_and_deletions_and_keeps_a_copy(repository):
    package = repository / "minibatch"
    (package / "blocks.py").unlink()
    (package / "own.py").write_text("my own\n")
    assert learner_edits.restore_main(["--yes"], repository) == 0
    assert (package / "engine.py").read_text() == "theirs\n"
    assert (package / "blocks.py").read_text() == "theirs\n"
    assert (package / "own.py").read_text() == "my own\n"
    (copy,) = (repository / "backups").iterdir()
    assert (copy / "minibatch" / "engine.py").read_text() == "mine\n"


def test_two_restores_in_one_second_keep_two_copies(repository):
    for text in ("one\n", "two\n"):
        (repository / "minibatch" / "engine.py").write_text(text)
        learner_edits.restore_main(["--yes"], repository)
    copies = sorted((repository / "backups").rglob("engine.py"))
    assert [copy.read_text() for copy in copies] == ["one\n", "two\n"]


def test_restore_undoes_only_the_files_that_are_named(repository):
    (repository / "minibatch" / "blocks.py").write_text("mine\n")
    learner_edits.restore_main(["--yes", "minibatch/blocks.py"], repository)
    assert (repository / "minibatch" / "blocks.py").read_text() == "theirs\n"
    assert (repository / "minibatch" / "engine.py").read_text() == "mine\n"


@pytest.mark.parametrize("path", ["requirements.txt", "minibatch/../lessons", ".."])
def test_paths_outside_the_package_are_refused(repository, path):
    with pytest.raises(SetupError, match="not in minibatch/"):
        learner_edits.find_edits(repository, [path])


def test_a_download_without_git_is_told_so(tmp_path):
    with pytest.raises(SetupError, match="not a git checkout"):
        learner_edits.find_edits(tmp_path, ["minibatch"])


def test_edits_that_were_committed_are_edits_all_the_same(repository, tmp_path_factory, capsys):
    mine = tmp_path_factory.mktemp("clone") / "mine"
    subprocess.run(["git", "clone", "-q", str(repository), str(mine)], check=True)
    (mine / "minibatch" / "engine.py").write_text("mine\n")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(mine), *identity, "commit", "-qam", "Mine"], check=True)
    assert learner_edits.restore_main(["--yes"], mine) == 0
    assert (mine / "minibatch" / "engine.py").read_text() == "theirs\n"
