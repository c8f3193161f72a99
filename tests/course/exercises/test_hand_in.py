"""`python -m minibatch handin`: from any clone or ZIP download, however git is set up."""

import io
import os
import subprocess
import sys
import zipfile

import pytest

from minibatch.course import commands
from minibatch.course.exercises import hand_in
from minibatch.course.exercises.hand_in import pack


@pytest.fixture
def download(tmp_path, monkeypatch):
    """A course without git, as a ZIP unpacks, with one solved exercise and a module beside it."""
    root = tmp_path / "course"
    for name, text in {
        "exercises/ex01_a.py": "answer = 1\n",
        "exercises/helper.py": "x = 1\n",
        "exercises/progress.json": "{}\n",
        "minibatch/engine/engine.py": "engine = 1\n",
        "minibatch/plots/timeline.py": "plot = 1\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.setenv("MINIBATCH_EXERCISES", str(root / "exercises"))
    monkeypatch.chdir(tmp_path)
    return root


@pytest.fixture
def clone(download, monkeypatch):
    """The same, under git; the home folder holds no settings."""
    home = download.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    git(download, "init", "-q")
    git(download, "add", "-A")
    commit(download)
    return download


def git(root, *arguments):
    return subprocess.run(
        ["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True
    ).stdout


def commit(root):
    git(root, "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "one")


def contents(packed):
    with zipfile.ZipFile(packed.path) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def test_a_download_hands_in_the_engines_rooms_as_they_are(download):
    packed = pack(root=download)
    assert set(packed.names) == {"ex01_a.py", "helper.py", "minibatch/engine/engine.py"}
    assert contents(packed)["minibatch/engine/engine.py"] == "engine = 1\n"
    assert packed.contents() == "ex01_a.py, helper.py, minibatch/ as it is here (1 files)"


def test_without_edits_a_clone_hands_in_no_patch(clone):
    assert set(pack(root=clone).names) == {"ex01_a.py", "helper.py"}


def test_new_files_are_in_the_patch_and_the_patch_applies(clone, tmp_path):
    (clone / "minibatch/engine/engine.py").write_text("import minibatch.engine.probe\n")
    (clone / "minibatch/engine/probe.py").write_text("probe = 1\n")
    before = git(clone, "status", "--porcelain")
    patch = contents(pack(root=clone))["minibatch.patch"]
    assert git(clone, "status", "--porcelain") == before
    fresh = tmp_path / "fresh"
    git(tmp_path, "clone", "-q", str(clone), str(fresh))
    (tmp_path / "p.patch").write_text(patch)
    git(fresh, "apply", str(tmp_path / "p.patch"))
    assert (fresh / "minibatch/engine/probe.py").read_text() == "probe = 1\n"
    assert "probe" in (fresh / "minibatch/engine/engine.py").read_text()


@pytest.mark.parametrize(
    "setting",
    [
        "diff.noprefix=true",
        "diff.mnemonicPrefix=true",
        "diff.external=false",
        "diff.context=0",
        "color.ui=always",
        "core.autocrlf=true",
        "core.excludesFile=all",
    ],
)
def test_the_patch_does_not_depend_on_the_students_git(clone, monkeypatch, setting):
    (clone / "minibatch/engine/engine.py").write_text("engine = 2\n")
    (clone / "minibatch/engine/probe.py").write_text("probe = 1\n")
    plain = contents(pack(root=clone))["minibatch.patch"]
    name, _, value = setting.partition("=")
    if value == "all":
        value = str(clone.parent / "ignored")
        (clone.parent / "ignored").write_text("*.py\n")
    git(clone, "config", name, value)
    monkeypatch.setenv("GIT_DIR", str(clone.parent / "elsewhere"))
    assert contents(pack(root=clone))["minibatch.patch"] == plain
    assert "+engine = 2" in plain
    assert "+probe = 1" in plain


def test_edits_that_a_student_committed_are_handed_in_too(clone, tmp_path):
    mine = tmp_path / "mine"
    git(tmp_path, "clone", "-q", str(clone), str(mine))
    (mine / "minibatch/engine/engine.py").write_text("engine = 3\n")
    git(mine, "add", "-A")
    commit(mine)
    assert "+engine = 3" in contents(pack(root=mine))["minibatch.patch"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can chown")
def test_a_clone_that_another_user_owns_can_be_handed_in(clone):
    (clone / "minibatch/engine/engine.py").write_text("engine = 2\n")
    for path in (clone, *clone.rglob("*")):
        os.chown(path, 12345, 12345)
    with pytest.raises(subprocess.CalledProcessError):
        git(clone, "status")  # "detected dubious ownership"
    assert "minibatch.patch" in pack(root=clone).names


def test_where_nothing_can_be_written_the_zip_goes_home_and_the_name_too(clone, monkeypatch):
    monkeypatch.chdir(clone)
    monkeypatch.setattr(os, "access", lambda path, mode: clone not in (path, *path.parents))
    packed = pack(name=hand_in.student_name("Ada"), root=clone)
    assert packed.path == clone.parent / "home" / "handin-Ada.zip"
    assert hand_in.student_name(None) == "Ada"
    assert not (clone / "exercises/name.txt").exists()


def test_the_name_is_asked_for_once_and_stands_in_the_zip_and_on_it(clone, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("Ada  Lovelace\n"))
    name = hand_in.student_name(None)
    packed = pack(name=name, root=clone)
    assert packed.path.name == "handin-Ada_Lovelace.zip"
    assert contents(packed)["name.txt"] == "Ada Lovelace\n"
    assert hand_in.student_name(None) == "Ada Lovelace"
    assert hand_in.student_name("Grace Hopper") == "Grace Hopper"
    assert hand_in.student_name(None) == "Grace Hopper"


def test_where_nobody_can_be_asked_the_zip_has_no_name_and_the_command_says_so(
    clone, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Eve\n"))
    assert hand_in.student_name(None) == ""
    assert pack(root=clone).path.name == "handin.zip"
    assert commands.hand_in([]) == 0
    assert '--name "YOUR NAME"' in capsys.readouterr().out
    assert commands.hand_in(["--name", "Ada"]) == 0
    assert "--name" not in capsys.readouterr().out
