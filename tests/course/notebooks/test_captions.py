"""A folded cell shows its first line in JupyterLab: a caption, unless the cell asks a question."""

import json
from pathlib import Path

import pytest

LESSONS = Path(__file__).parents[3] / "lessons"
ASKS = ("mb.predict", "guess_last_line")  # their questions hide the line


@pytest.mark.parametrize("path", sorted(LESSONS.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_a_folded_cell_begins_with_a_caption(path):
    folded = [
        (cell["id"], "".join(cell["source"]))
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["metadata"].get("jupyter", {}).get("source_hidden")
    ]
    shown = [(name, text) for name, text in folded if not any(word in text for word in ASKS)]
    assert [name for name, text in shown if not text.startswith("# ")] == []
