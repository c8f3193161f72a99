"""A paragraph that begins with a number and a dot becomes a list: an answer "80." lost its 80."""

import json
from pathlib import Path

import mistune
import pytest

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("lessons/[0-9]*.ipynb"), *ROOT.glob("lessons/*.md"), ROOT / "README.md"]
parse = mistune.create_markdown(renderer="ast")  # as the pages of the course are made


def texts(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [text]
    cells = json.loads(text)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


def numbered_lists(blocks):
    for block in blocks:
        if block["type"] == "list" and block["attrs"]["ordered"]:
            yield block
        yield from numbered_lists(block.get("children", []))


def accidents(text):
    """The first words of each numbered list that does not begin with 1, or has only one item."""
    return [
        str(found["children"][0])[:200]
        for found in numbered_lists(parse(text))
        if found["attrs"].get("start", 1) != 1 or len(found["children"]) < 2
    ]


@pytest.mark.parametrize("path", sorted(PAGES), ids=lambda path: path.name)
def test_no_paragraph_has_become_a_numbered_list(path):
    assert [found for text in texts(path) for found in accidents(text)] == []


@pytest.mark.parametrize("text", ["<details>\n\n80. The last token.\n</details>", "1. A sentence."])
def test_an_answer_that_begins_with_its_number_is_found(text):
    assert len(accidents(text)) == 1
    assert accidents("One:\n\n1. first\n2. second") == []
