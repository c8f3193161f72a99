"""One folder or archive for each student, copied to a folder of files that can be judged.

A submission is assumed to be hostile, and its name, too. It is opened in a separate process
(unpack.py). Every entry of the class's folder is a student's, and gets a row.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.classroom.unpack import SECONDS
from minibatch.course.exercises.hand_in import NAME
from minibatch.course.judging.plain_text import plain
from minibatch.course.setup import ROOT
from minibatch.course.setup.process import environment_variables

_ENDINGS = re.compile(r"(\.tar)?\.\w{1,5}$")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


class SubmissionError(Exception):
    """This submission cannot be judged; the message says why."""


@dataclass(frozen=True, slots=True)
class Submission:
    """name: the student's, from the folder's or archive's name. safe_name: a unique name for files.
    path: the folder or archive."""

    name: str
    safe_name: str
    path: Path

    def copy_to(self, folder: Path) -> list[str]:
        """Copy the files that can be judged to `folder`; returns the names of those that are the
        course's own solutions. Raises SubmissionError."""
        command = [sys.executable, "-s", "-P", "-m", "minibatch.course.classroom.unpack"]
        try:
            done = subprocess.run(
                [*command, self.path, folder],
                env=environment_variables() | {"PYTHONPATH": str(ROOT)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=3 * SECONDS,
            )
            answer = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            raise SubmissionError("it cannot be read: it takes too long") from None
        except ValueError:
            raise SubmissionError("it cannot be read: it takes too much time or memory") from None
        if "error" in answer:
            raise SubmissionError(answer["error"])
        return answer["ours"]


def submissions(folder: Path) -> list[Submission]:
    """Every entry of `folder` that is not hidden, in the order of names.

    Students' names are unique, even if Anna/, Anna.zip and anna-2.tar.gz are in one folder.
    """
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    stems = {path: path.name if path.is_dir() else _ENDINGS.sub("", path.name) for path in paths}
    times = Counter(stem.casefold() for stem in stems.values())
    found: list[Submission] = []
    names: set[str] = set()
    safe: set[str] = set()
    for path in paths:
        name = stems[path] if times[stems[path].casefold()] == 1 else path.name
        found.append(Submission(_unique(shown(name), names), _unique(safe_name(name), safe), path))
    return found


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken; now it is."""
    found, number = name, 2
    while found.casefold() in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(found.casefold())
    return found


def shown(name: str) -> str:
    """A file's name as text that can be written anywhere, for any bytes in the name."""
    return plain(os.fsencode(name).decode(errors="backslashreplace")).replace("\n", " ")


def safe_name(name: str) -> str:
    """A name for files: letters, digits, dots and dashes, at most 80 characters."""
    name = unicodedata.normalize("NFC", os.fsencode(name).decode(errors="replace"))
    safe = re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or "unnamed"
    return f"_{safe}" if _RESERVED.match(safe) else safe


def declared_name(folder: Path) -> str:
    """The student's name in the copied name.txt; "" if there is none."""
    try:
        text = plain((folder / NAME).read_text(encoding="utf-8", errors="replace"))
        return " ".join(text.split())[:80]  # a line feed would begin a line of the summary
    except OSError:
        return ""
