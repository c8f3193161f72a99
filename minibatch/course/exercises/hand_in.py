"""Packs everything that a teacher grades: exercise files, modules beside them, minibatch/ edits.

handin-Ada_Lovelace.zip
    name.txt              the student's name, if they gave one
    ex04_….py, helper.py  what lies in exercises/
    minibatch.patch       from a clone: the edits in minibatch/, new files included
    minibatch/…/*.py      from a ZIP download, which has no git: the engine's rooms as they are
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.exercises.progress import learner_folder
from minibatch.course.exercises.source import PATCH, all_tasks, exercises_folder
from minibatch.course.setup import ROOT
from minibatch.course.setup.git import is_repository, patch

NAME = "name.txt"  # in the zip; also beside the exercises, for the next hand-in


@dataclass(frozen=True, slots=True)
class Packed:
    """path: the zip; names: the files in it."""

    path: Path
    names: list[str]

    def contents(self) -> str:
        """The names, with the files of minibatch/ as a count."""
        names = [name for name in self.names if "/" not in name]
        rooms = len(self.names) - len(names)
        return ", ".join(names + [f"minibatch/ as it is here ({rooms} files)"] * bool(rooms))


def pack(path: Path | None = None, name: str = "", root: Path = ROOT) -> Packed:
    """Write the zip to `path`; default: a file with the student's name, in a writable folder.

    Raises SetupError if git cannot list the edits.
    """
    contents: dict[str, bytes] = {NAME: f"{name}\n".encode()} if name else {}
    for file in sorted(exercises_folder().glob("*.py")):
        contents[file.name] = file.read_bytes()
    contents |= _edits(root)
    path = path or writable_folder() / file_name(name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inside, content in contents.items():
            archive.writestr(inside, content)
    return Packed(path.resolve(), list(contents))


def file_name(name: str) -> str:
    """ "Ada Lovelace" gives "handin-Ada_Lovelace.zip"; without a name it is "handin.zip"."""
    safe = re.sub(r"[^\w.-]+", "_", name).strip("._")[:60]
    return f"handin-{safe}.zip" if safe else "handin.zip"


def stored_name() -> str:
    """The name that was given for the last hand-in; "" without one."""
    kept = (learner_folder() or Path()) / NAME
    return kept.read_text(encoding="utf-8").strip() if kept.is_file() else ""


def student_name(given: str | None) -> str:
    """The name given now, or stored earlier, or typed at a prompt; "" without a terminal."""
    folder = learner_folder()
    kept = folder / NAME if folder else None
    if given is None and (stored := stored_name()):
        return stored
    if given is None and sys.stdin is not None and sys.stdin.isatty():
        with suppress(EOFError):
            given = input("Your name, as your teacher knows it: ")
    given = " ".join((given or "").split())
    if given and kept is not None:
        kept.write_text(given + "\n", encoding="utf-8")
    return given


def _edits(root: Path) -> dict[str, bytes]:
    if is_repository(root):
        edits = patch(root, "minibatch")
        return {PATCH: edits.encode()} if edits else {}
    rooms = {room for task in all_tasks().values() for room in task.may_change}
    files = sorted(file for room in rooms for file in (root / room).rglob("*.py"))
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in files}


def writable_folder() -> Path:
    """The current folder, or else the home folder, or else the folder of temporary files."""
    for folder in (Path.cwd(), Path.home()):
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.gettempdir())
