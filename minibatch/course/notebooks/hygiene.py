"""The form in which a notebook is committed: `python -m minibatch notebooks [--fix]`.

`fixed` defines that form. A difference that it would change is a problem that --fix repairs; other
problems are for the author. The form is the JSON that JupyterLab writes (nbformat 4.5) without
outputs and counts, so that a diff shows only edits. A source keeps all characters except blank
space at its end.
"""

import argparse
import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import nbformat

from minibatch.course.changes.lesson_file import METADATA, kept
from minibatch.course.notebooks import links
from minibatch.course.notebooks.problem import Problem
from minibatch.course.setup import ROOT

_WORD = r"(?:[a-z]+\d{0,3}|\d{1,3})"  # four, fp16, 2
_READABLE_ID = re.compile(  # eight hexadecimal digits are not a word but a random id
    rf"(?=.{{1,64}}\Z)(?!.*\b[0-9a-f]{{8,}}\b){_WORD}(?:-{_WORD})*"
)
_MENDED_IN_NOTEBOOK = {
    "nbformat_minor": "is not nbformat 4.5; --fix converts it",
    "metadata": "has metadata, widget state perhaps, that is not the course's; --fix replaces it",
}
_MENDED_IN_CELL = {
    "id": "has no id in readable words; --fix makes one from the cell's first words",
    "metadata": "has metadata other than tags and a hidden source; --fix removes it",
    "execution_count": "has an execution count; --fix removes it",
    "outputs": "has outputs; --fix removes them",
    "source": "has a source that is not a list of lines, or ends in blank space; --fix repairs it",
}
_NOT_IN_CODE = {
    r"/home/|/root/|/Users/|C:\\+Users": "names a folder of one machine; use a path relative to "
    "the lessons' folder",
    r"\b(?:hf_|sk-|gh[pousr]_)\w{20}": "holds what looks like a secret token; revoke and remove it",
}


def main(arguments: list[str], root: Path = ROOT) -> int:
    """`python -m minibatch notebooks [--fix] [path ...]`: 1 if there are problems, a line each."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch notebooks",
        description="Check the lessons' notebooks, and the links and sources of every page.",
    )
    parser.add_argument("--fix", action="store_true", help="repair the form of notebooks first")
    parser.add_argument(
        "paths", nargs="*", type=Path, help="notebooks and Markdown files; default: the course's"
    )
    options = parser.parse_args(arguments)
    paths = options.paths or links.pages(root)
    for path in paths:
        if not path.is_file():
            parser.error(f"there is no file {path}")
    notebooks = [path for path in paths if path.suffix == ".ipynb"]
    for path in notebooks if options.fix else ():
        _fix(path)
    found = [problem for path in notebooks for problem in problems(path)]
    found += [problem for path in paths for problem in links.problems(path, root)]
    print(*(found or [f"Pages without problems: {len(paths)}."]), sep="\n")
    return 1 if found else 0


def problems(path: Path) -> list[Problem]:
    """The problems of this notebook's form; links.py checks its links and sources."""
    try:
        text = path.read_text(encoding="utf-8")
        mended = fixed(text)
    except ValueError as error:
        return [
            Problem(path, None, f"is not a valid notebook of nbformat 4; restore it. ({error})")
        ]
    before, after = json.loads(text), json.loads(mended)
    found = list(_fixable(before, after))
    if text != mended and not found:
        found = [(None, "does not have JupyterLab's layout; --fix applies it")]
    found += _for_the_author(after["cells"])
    return [Problem(path, cell, sentence) for cell, sentence in found]


def fixed(text: str) -> str:
    """The notebook in the committed form; raises ValueError if it is not valid nbformat 4."""
    try:
        notebook = json.loads(text)
        cells = [cell for cell in notebook["cells"] if not _is_empty(cell)]
        notebook = {
            "cells": [
                _fixed_cell(cell, name) for cell, name in zip(cells, _ids(cells), strict=True)
            ],
            "metadata": METADATA,
            "nbformat": notebook["nbformat"],
            "nbformat_minor": 5,
        }
        nbformat.validate(notebook)
    except (AttributeError, KeyError, TypeError, nbformat.ValidationError) as error:
        raise ValueError(f"{type(error).__name__}: {error}".partition("\n")[0]) from error
    text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    text.encode()  # half a surrogate pair cannot be written: a ValueError as well
    return text


def _fixed_cell(cell: dict, name: str) -> dict:
    new = {
        "cell_type": cell["cell_type"],
        "id": name,
        "metadata": kept(cell.get("metadata", {})),
        "source": _source(cell).rstrip().splitlines(keepends=True),
    }
    if cell["cell_type"] == "code":
        new |= {"execution_count": None, "outputs": []}
    if cell.get("attachments"):  # a pasted picture: the author must move it
        new["attachments"] = cell["attachments"]
    return new


def _ids(cells: list[dict]) -> list[str]:
    """Each cell's id: its own if it is readable and not used before, otherwise a new one."""
    own = [cell.get("id") or "" for cell in cells]
    ids: list[str] = []
    for cell, name in zip(cells, own, strict=True):
        if name in ids or not _READABLE_ID.fullmatch(name):
            stem = _first_words(_source(cell)) or cell["cell_type"]
            names = (f"{stem}-{n}" if n > 1 else stem for n in count(1))
            name = next(name for name in names if name not in own and name not in ids)
        ids.append(name)
    return ids


def _first_words(source: str) -> str:
    """Up to four words of the first heading or comment, or else of the first line."""
    heading = re.search(r"^#+ .+", source, re.MULTILINE)
    line = heading[0] if heading else source.strip().partition("\n")[0]
    words = re.findall(r"[a-z]+", line.lower())
    return "-".join(
        [word for word in words if len(word) <= 12 and _READABLE_ID.fullmatch(word)][:4]
    )


def _fixable(before: dict, after: dict) -> Iterator[tuple[str | None, str]]:
    for key, sentence in _MENDED_IN_NOTEBOOK.items():
        if before.get(key) != after[key]:
            yield None, sentence
    mended = iter(after["cells"])
    for number, old in enumerate(before["cells"], 1):
        if _is_empty(old):
            yield old.get("id") or f"number {number}", "is empty; --fix removes it"
            continue
        new = next(mended)
        for key, sentence in _MENDED_IN_CELL.items():
            if old.get(key) != new.get(key):
                yield old.get("id") or new["id"], sentence


def _for_the_author(cells: list[dict]) -> Iterator[tuple[str | None, str]]:
    opening = _source(cells[0]) if cells and cells[0]["cell_type"] == "markdown" else ""
    if not opening.startswith("# "):
        yield None, 'does not open with a Markdown cell that starts with "# " and a title; add it'
    elif all(len(alt) <= 20 for alt in links.IMAGE.findall(opening)):
        yield cells[0]["id"], "has no picture with alt text of more than 20 characters; add one"
    for cell in cells:
        if cell.get("attachments"):
            yield cell["id"], "holds a pasted picture; save it in lessons/images/ and link to that"
        for pattern, sentence in _NOT_IN_CODE.items() if cell["cell_type"] == "code" else ():
            if re.search(pattern, _source(cell)):
                yield cell["id"], sentence


def _source(cell: dict) -> str:
    return "".join(cell["source"])  # a list of lines or one string


def _is_empty(cell: dict) -> bool:
    return not _source(cell).strip() and not cell.get("attachments")


def _fix(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
        mended = fixed(text)
    except ValueError:
        return  # problems() reports why
    if mended != text:
        path.write_text(mended, encoding="utf-8", newline="\n")
        print(f"Mended {path}.")
