"""What `check` says at home is what the class says: one odd but honest student, both ways."""

import json
import shutil
import subprocess
import sys

import pytest
from probe import solve_with_a_new_file

from minibatch.course.classroom import grade_class
from minibatch.course.exercises import source
from minibatch.course.judging import sandbox
from minibatch.course.setup import ROOT
from minibatch.course.setup.process import environment_variables

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

FILE = "ex03_dynamic_batching.py"
AT_THE_TOP = """
from pathlib import Path

import matplotlib.pyplot as plt
import minibatch as mb
from my_tools import say

model = mb.load_model()
plt.plot([1, 2])
Path("notes.txt").write_text("mine")
say("a short word")
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A student's clone, in which 3.1 and 4.3 are solved, the latter with a new file."""
    root = tmp_path_factory.mktemp("home") / "course"
    keep = shutil.ignore_patterns(".git", ".venv", "__pycache__", "backups", ".*_cache", "*.zip")
    shutil.copytree(ROOT, root, ignore=keep)

    def git(*arguments):
        subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True)

    git("init")
    for setting in (
        "user.name=Ada",
        "user.email=a@b.c",
        "diff.noprefix=true",
        "core.autocrlf=input",
    ):
        git("config", *setting.split("="))
    git("add", "-A")
    git("commit", "-m", "the course")
    solve_with_a_new_file(root)
    exercises = root / "exercises"
    solved = (ROOT / "solutions" / FILE).read_text(encoding="utf-8")
    (exercises / FILE).write_text(solved + AT_THE_TOP, encoding="utf-8")
    (exercises / "my_tools.py").write_text("def say(word):\n    print(word)\n")
    return root


def run(root, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "minibatch", *arguments],
        cwd=root,
        env=environment_variables() | {"PYTHONPATH": str(root), "MINIBATCH_EXERCISES": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.skipif(bool(sandbox.missing()), reason="classes are graded where they can be sandbox")
def test_what_check_says_the_class_says(clone, tmp_path):
    tasks = [source.select(name)[0] for name in ("3.1", "4.1", "4.3")]
    at_home = {}
    for task in tasks:
        said = run(clone, "grade", task.id, "--json", str(tmp_path / "verdicts.json"))
        (verdict,) = json.loads((tmp_path / "verdicts.json").read_text(encoding="utf-8"))
        at_home[task.id] = [(r["outcome"], r["points"]) for r in verdict["results"]]
        assert ("a short word" in said.stdout) == (task.id == "3.1"), said.stdout + said.stderr
    (tmp_path / "class").mkdir()
    packed = run(clone, "handin", str(tmp_path / "class" / "ada.zip"), "--name", "Ada")
    assert packed.returncode == 0, packed.stderr
    result = grade_class(tmp_path / "class", tmp_path / "out", jobs=1, tasks=tasks)
    (ada,) = result.students
    in_class = {v.task: [(r.outcome, r.points) for r in v.results] for v in ada.verdicts}
    assert in_class == at_home
    assert [v.points for v in ada.verdicts] == [2, 0, 5]
    assert ada.verdicts[0].printed.strip() == "a short word"
    assert "hands in as Ada" in ada.note
