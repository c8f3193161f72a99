"""One folder or zip for each student, brought into a folder of files that can be judged.

What is handed in is hostile by assumption: only exercise files and a patch are taken out of it, by
name, and nothing of it is run, followed or unpacked anywhere else.
"""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from minibatch.course.exercises.source import PATCH

MOST_BYTES = 2**20  # of one file; an exercise file is some kilobytes
MOST_ENTRIES = 2000  # looked at in one submission
_WANTED = re.compile(r"ex\d\d_\w+\.py")


class SubmissionError(Exception):
    """Nothing can be judged here; the message says why."""


@dataclass(frozen=True, slots=True)
class Submission:
    """name: the student's, as the folder or zip is called. path: that folder or zip."""

    name: str
    path: Path

    @property
    def safe_name(self) -> str:
        """For the name of a file: letters, digits, dots, dashes, at most 80 of them."""
        return re.sub(r"[^\w.-]+", "_", self.name, flags=re.ASCII).strip("._")[:80] or "unnamed"

    def copy_to(self, folder: Path) -> list[str]:
        """Copy its exercise files and patch into `folder`; returns their names.

        A file may lie in a folder of the submission; of two of one name the uppermost counts.
        Raises SubmissionError if there is none, or if the zip cannot be read.
        """
        try:
            found = list(self._files())
        except (
            zipfile.BadZipFile,
            OSError,
            ValueError,
            NotImplementedError,
            RuntimeError,
        ) as error:
            raise SubmissionError(f"it cannot be read: {error}") from None
        found.sort(key=lambda item: (item[0].count("/"), item[0]))
        names = []
        for place, content in found:
            name = PurePosixPath(place).name
            if name not in names:
                (folder / name).write_bytes(content)
                names.append(name)
        if not names:
            raise SubmissionError("it holds no exercise file (ex01_….py)")
        return names

    def _files(self) -> Iterator[tuple[str, bytes]]:
        """Where each wanted file lies in it, and what it holds."""
        if self.path.is_dir():
            yield from _in_folder(self.path)
        else:
            yield from _in_zip(self.path)


def submissions(folder: Path) -> list[Submission]:
    """Every folder and zip in `folder`, in the order of their names. Links are left out."""
    found = []
    for path in sorted(folder.iterdir()):
        hidden = path.name.startswith(".") or path.is_symlink()
        if not hidden and (path.is_dir() or path.suffix.lower() == ".zip"):
            found.append(Submission(path.stem if path.is_file() else path.name, path))
    return found


def _in_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    waiting, seen = [folder], 0
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            seen += 1
            if seen > MOST_ENTRIES:
                raise SubmissionError(f"it has more than {MOST_ENTRIES:,} files and folders")
            kind = path.lstat().st_mode
            if stat.S_ISDIR(kind):
                waiting.append(path)
            elif stat.S_ISREG(kind) and _is_wanted(path.name):
                if path.stat().st_size > MOST_BYTES:
                    raise SubmissionError(f"{path.name} is larger than {MOST_BYTES:,} bytes")
                yield path.relative_to(folder).as_posix(), path.read_bytes()


def _in_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if len(entries) > MOST_ENTRIES:
            raise SubmissionError(f"it has more than {MOST_ENTRIES:,} files and folders")
        for entry in entries:
            name = PurePosixPath(entry.filename.replace("\\", "/")).name
            is_link = stat.S_ISLNK(entry.external_attr >> 16)
            if entry.is_dir() or is_link or not _is_wanted(name):
                continue
            with archive.open(entry) as file:  # what the entry says of its size may be a lie
                content = file.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                raise SubmissionError(f"{name} is larger than {MOST_BYTES:,} bytes")
            yield entry.filename.replace("\\", "/"), content


def _is_wanted(name: str) -> bool:
    return name == PATCH or bool(_WANTED.fullmatch(name))
