"""Every lesson runs from top to bottom in a fresh kernel, without a model hub."""

import json
import os
import re
import subprocess
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

LESSONS = Path(__file__).parents[1] / "lessons"


def committed(path):
    """The lesson as committed: a learner may have run and changed the file itself."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    shown = subprocess.run(command, cwd=path.parent, capture_output=True, encoding="utf-8")
    return path.read_text(encoding="utf-8") if shown.returncode else shown.stdout


@pytest.fixture(scope="module")
def run_lesson():
    """Executes a lesson once; returns the text of everything it printed or displayed."""
    done = {}

    def run(name: str) -> str:
        if name not in done:
            notebook = nbformat.reads(committed(LESSONS / name), as_version=4)
            client = NotebookClient(
                notebook,
                timeout=240,
                kernel_name="python3",
                resources={"metadata": {"path": str(LESSONS)}},
            )
            client.execute(env={**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
            done[name] = "\n".join(_texts(notebook))
        return done[name]

    return run


def _texts(notebook):
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            yield output.get("text") or data.get("text/markdown") or data.get("text/plain", "")


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(LESSONS.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_a_lesson_runs_from_top_to_bottom(run_lesson, path):
    assert run_lesson(path.name)


@pytest.mark.slow
def test_lesson_04_finds_what_it_says(run_lesson):
    text = " ".join(run_lesson("04_continuous_batching.ipynb").split())
    assert "All four policies gave the same 1530 tokens." in text
    assert "Static(8) 400 steps" in text
    assert "Continuous(8) 320 steps" in text
    assert "200 steps of 25 ms = 5.0 s" in text
    assert "765 tokens = 153 tokens/s" in text
    assert "835 of 1,600 rows are padding = 52.2%" in text


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_lesson_is_committed_clean(path):
    notebook = json.loads(committed(path))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert "widgets" not in notebook["metadata"]
    for cell in notebook["cells"]:
        assert cell["id"]
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", sorted(LESSONS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_every_picture_has_a_file_and_alt_text(path):
    text = path.read_text(encoding="utf-8")
    for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text):
        assert len(alt) > 20
        assert (LESSONS / target).is_file()
