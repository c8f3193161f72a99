"""Checks that the course's files can be read and run, and its folder written, without running
them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from minibatch.course.setup import ROOT
from minibatch.course.setup.conflict_marks import marked_files, marked_line
from minibatch.course.setup.findings import Finding, SetupError, failure, fine, warning
from minibatch.course.setup.git import is_repository


def check_folders(root: Path = ROOT) -> Iterator[Finding]:
    """Whether the course's folder and the home folder are writable."""
    if os.access(root, os.W_OK):
        yield fine("folder", f"{root} can be written to")
    else:
        seen = f"{root} cannot be written to, so .venv and your work cannot be saved there"
        yield warning("folder", seen, "Copy it to a folder where you can write, and start there.")
    try:
        home = Path.home()
        can_write = os.access(home, os.W_OK)
    except RuntimeError:
        home, can_write = Path("~"), False
    if not can_write:
        seen = f"Jupyter must write to the home folder {home}, and cannot"
        yield failure("home", seen, "Set HOME to a folder of yours before you start.")


def check_sources(root: Path = ROOT) -> Iterator[Finding]:
    """Whether Python can parse minibatch/, and the lessons are notebooks."""
    mend = "python -m minibatch restore" if is_repository(root) else "Take it from a fresh download"
    broken = [*broken_sources(root), *_broken_lessons(root)]
    for where in broken:
        yield failure("files", where, f"{mend} {where.split(',')[0].split(':')[0]}")
    if not broken:
        yield fine("files", "minibatch/ and the lessons can be read")


def broken_sources(root: Path = ROOT) -> Iterator[str]:
    """The files of minibatch/ that Python cannot parse: file, line, and why."""
    for file in sorted((root / "minibatch").rglob("*.py")):
        path = file.relative_to(root).as_posix()
        try:
            compile(file.read_bytes(), path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, OSError) as error:
            yield _problem(path, file, error)


def refuse_broken_sources(root: Path = ROOT) -> None:
    """Raise SetupError if a file of minibatch/ cannot be parsed: nothing can be judged then."""
    broken = list(broken_sources(root))
    if broken:
        raise SetupError(
            "\n".join(broken) + "\nFix that, or undo your edits in minibatch/ (a copy is kept): "
            "python -m minibatch restore"
        )


def _problem(path: str, file: Path, error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{path}: cannot be read: {error.strerror}"
    line = marked_line(file.read_text(encoding="utf-8", errors="replace"))
    if line is not None:
        return f"{path}, line {line}: it has a conflict mark of git"
    where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    message = error.msg if isinstance(error, SyntaxError) else error
    return f"{path}{where}: {type(error).__name__}: {message}"


def _broken_lessons(root: Path) -> Iterator[str]:
    marked = dict(marked_files(root))
    for file in sorted((root / "lessons").glob("*.ipynb")):
        path = file.relative_to(root).as_posix()
        if path in marked:
            yield f"{path}, line {marked[path]}: it has a conflict mark of git"
            continue
        try:
            json.loads(file.read_text(encoding="utf-8"))["cells"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            yield f"{path}: cannot be read as a notebook: {type(error).__name__}: {error}"
