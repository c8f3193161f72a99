"""A lesson's file: removes outputs, and merges a learner's version with the course's.

Run as a program, it is git's filter for lessons: .gitattributes names it, `lab` and `update`
configure it. git then stores lessons without outputs, so a pull does not need to merge outputs.
As a program it runs alone, so it must not import other files of ours.
"""

import json
import re
import sys
from contextlib import suppress

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
"""The kernel metadata of the course's notebooks."""

_RANDOM_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f-]+)?")  # JupyterLab's; the course's are words


def read(text: str) -> dict:
    """Parse a notebook. Raises ValueError if it is not one, as in a file with conflict marks."""
    notebook = json.loads(text)
    try:
        for cell in notebook["cells"]:
            cell["source"] = source(cell).splitlines(keepends=True)
            cell["cell_type"] = str(cell["cell_type"])
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no notebook: {type(error).__name__}: {error}") from error
    return notebook


def written(notebook: dict) -> str:
    """The notebook's text, as JupyterLab writes it."""
    return json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def bare(notebook: dict) -> dict:
    """The notebook without outputs, execution counts, and metadata; `kept` metadata stays."""
    return {**notebook, "metadata": METADATA, "cells": [_bare(cell) for cell in notebook["cells"]]}


def kept(metadata: dict) -> dict:
    """The part of a cell's metadata that is kept: tags, and whether its source is hidden."""
    tags, jupyter = metadata.get("tags"), metadata.get("jupyter")
    is_hidden = isinstance(jupyter, dict) and jupyter.get("source_hidden") is True
    hidden = {"jupyter": {"source_hidden": True}} if is_hidden else {}
    return ({"tags": tags} if tags else {}) | hidden


def source(cell: dict) -> str:
    """A cell's text, which may be a list of lines."""
    return "".join(cell["source"])


def together(base: dict | None, mine: dict, new: dict) -> tuple[dict, list[str]]:
    """The course's new lesson with the learner's cells and outputs, and the cells that do not fit.

    base: what the learner began with; None if it is not known. If only one side changed a cell,
    that side's version is used. If both changed it, the course's is used, and the cell's name is in
    the second result.
    """
    began = {cell.get("id"): source(cell) for cell in base["cells"]} if base else {}
    yours = {cell.get("id"): cell for cell in mine["cells"]}
    cells, lost = [], []
    for cell in new["cells"]:
        name, theirs = cell.get("id"), source(cell)
        own = yours.get(name)
        if own is None:
            if began.get(name) != theirs:  # otherwise the learner removed it
                cells.append(cell)
        elif source(own) == theirs or began.get(name) == theirs:
            cells.append(own)
        else:
            cells.append(cell)
            if began.get(name) != source(own):
                lost.append(name)
    kept = {cell.get("id") for cell in new["cells"]}
    before = None
    for own in mine["cells"]:
        name = own.get("id")
        if name not in kept:
            added = name not in began if base else bool(_RANDOM_ID.match(name or ""))
            if added:
                cells.insert(_after(cells, before), own)
            elif base and began[name] != source(own):
                lost.append(name)  # changed by the learner, removed by the course
        before = name if any(cell.get("id") == name for cell in cells) else before
    metadata = dict(new["metadata"])
    if "widgets" in mine.get("metadata", {}):
        metadata["widgets"] = mine["metadata"]["widgets"]
    return {**new, "metadata": metadata, "cells": cells}, [name or "a cell" for name in lost]


def _after(cells: list[dict], name: str | None) -> int:
    return next((n for n, cell in enumerate(cells, 1) if cell.get("id") == name), 0)


def _bare(cell: dict) -> dict:
    new = {**cell, "metadata": kept(cell.get("metadata", {}))}
    if cell["cell_type"] == "code":
        new |= {"execution_count": None, "outputs": []}
    return new


if __name__ == "__main__":
    content = sys.stdin.buffer.read()
    with suppress(ValueError):  # git gets a file that is not a notebook unchanged
        content = written(bare(read(content.decode("utf-8")))).encode("utf-8")
    sys.stdout.buffer.write(content)
