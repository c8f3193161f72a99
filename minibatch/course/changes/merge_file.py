"""Merges one file that both the learner and the course have changed.

    exercise       the learner's lines between the marks, in the course's new stub
    lesson         cell by cell, with outputs (lesson_file.py)
    other text     both sides' changes, as git merges lines
    anything else  the course's version

If the two do not fit, the course's version is used, and the learner's is copied to backups/. Only
an exercise file that has lost its marks stays the learner's. No file is left with conflict marks,
or unreadable.
"""

import ast
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.changes import lesson_file
from minibatch.course.exercises import source


@dataclass(frozen=True, slots=True)
class Merged:
    """content: the file's new content, None to remove it. lost: what of the learner's work does not
    fit, in words; empty if everything fits."""

    content: bytes | None
    lost: str = ""


def merge_file(path: str, base: bytes | None, mine: bytes, new: bytes | None) -> Merged:
    """base: what the learner began with, None if it is not known; new: None if the course has
    removed the file. All three are the bytes on the disk."""
    if base == new or same(mine, new):
        return Merged(mine)
    if new is None:
        return Merged(None, "the course no longer has this file")
    try:
        texts = [_text(content) for content in (base, mine, new)]
    except UnicodeDecodeError:
        return Merged(new, "this file cannot be merged")
    began, yours, theirs = texts
    if path.startswith("lessons/") and path.endswith(".ipynb"):
        return _lesson(began, yours, theirs)
    merged = None if began is None else merge(began, yours, theirs)
    if merged is not None and _is_sound(path, merged):
        return Merged(merged.encode())
    if path.startswith("exercises/"):
        return _exercise(began, yours, theirs)
    if began is None:
        return Merged(new, "it differs, and a download does not show whose change that is")
    return Merged(new, "your changes do not fit the course's new version")


def same(one: bytes | None, other: bytes | None) -> bool:
    """Whether two files have the same content; line ends may differ, as in a Windows clone."""
    if one is None or other is None or b"\0" in one:
        return one == other
    return one == other or one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def merge(base: str, mine: str, new: str) -> str | None:
    """Both sides' lines, merged by git; None if they do not fit. Works outside a clone, too."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("mine", "base", "new")]
        for file, text in zip(files, (mine, base, new), strict=True):
            file.write_text(text, encoding="utf-8", newline="\n")
        command = ["git", "merge-file", "--stdout", *map(str, files)]
        try:
            done = subprocess.run(command, capture_output=True)
        except FileNotFoundError:
            return None
    return done.stdout.decode("utf-8") if done.returncode == 0 else None


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8").replace("\r\n", "\n")


def _is_sound(path: str, text: str) -> bool:
    if not path.endswith(".py"):
        return True
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _lesson(base: str | None, mine: str, new: str) -> Merged:
    try:
        yours = lesson_file.read(mine)
    except ValueError:
        return Merged(new.encode(), "your file cannot be read as a notebook")
    began = None if base is None else lesson_file.read(base)
    notebook, lost = lesson_file.together(began, yours, lesson_file.read(new))
    cells = ", ".join(f'"{name}"' for name in lost)
    return Merged(
        lesson_file.written(notebook).encode(),
        f"the course's version is used in the cell{'s'[: len(lost) > 1]} {cells}" if lost else "",
    )


def _exercise(base: str | None, mine: str, new: str) -> Merged:
    """The learner's marked places in the new stub."""
    lines = new.splitlines(keepends=True)
    kept = 0
    for name in reversed(source.marked_places(new)):  # from below, so that line numbers stay right
        there, here = source.place(new, name), source.place(mine, name)
        if there and here:
            lines[slice(*there)] = mine.splitlines(keepends=True)[slice(*here)]
            kept += 1
    if not kept:
        return Merged(
            mine.encode(), "it has lost the marks of its exercises, so your file stays unchanged"
        )
    outside = base is None or _outside(mine) != _outside(base)
    return Merged("".join(lines).encode(), "your text outside the marked places" if outside else "")


def _outside(text: str) -> list[str]:
    """The lines of an exercise file outside the learner's marked places."""
    lines = text.splitlines()
    for name in reversed(source.marked_places(text)):
        if place := source.place(text, name):
            del lines[slice(*place)]
    return lines
