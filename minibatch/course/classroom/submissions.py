"""One folder or archive for each student, brought into a folder of files that can be judged.

What is handed in is hostile by assumption, its name too; it is opened in a process of its own
(unpack.py). Everything that lies in the class's folder is somebody's, and gets a row.
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
    """Nothing can be judged here; the message says why."""


@dataclass(frozen=True, slots=True)
class Submission:
    """name: the student's, as the folder or archive is called. safe_name: for the name of a file,
    no other student's. path: that folder or archive."""

    name: str
    safe_name: str
    path: Path

    def copy_to(self, folder: Path) -> list[str]:
        """Copy into `folder` what can be judged; returns the names. Raises SubmissionError."""
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
        return answer["names"]


def submissions(folder: Path) -> list[Submission]:
    """Everything in `folder` that is not hidden, in the order of names.

    Two students' names differ even where Anna/, Anna.zip and anna-2.tar.gz lie side by side.
    """
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    stems = {path: path.name if path.is_dir() else _ENDINGS.sub("", path.name) for path in paths}
    times = Counter(stem.casefold() for stem in stems.values())
    found: list[Submission] = []
    taken: set[str] = set()
    for path in paths:
        name = stems[path] if times[stems[path].casefold()] == 1 else path.name
        safe = safe_name(name)
        number = 2
        while safe.casefold() in taken:
            safe, number = f"{safe_name(name)}-{number}", number + 1
        taken.add(safe.casefold())
        found.append(Submission(shown(name), safe, path))
    return found


def shown(name: str) -> str:
    """A file's name as it can be written anywhere, whatever bytes it is made of."""
    return plain(os.fsencode(name).decode(errors="replace")).replace("\n", " ")


def safe_name(name: str) -> str:
    """For the name of a file: letters, digits, dots, dashes, at most 80 of them."""
    name = unicodedata.normalize("NFC", os.fsencode(name).decode(errors="replace"))
    safe = re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or "unnamed"
    return f"_{safe}" if _RESERVED.match(safe) else safe


def said_name(folder: Path) -> str:
    """Who hands in, as they say themselves in what was copied; "" if they do not."""
    try:
        return plain((folder / NAME).read_text(encoding="utf-8", errors="replace").strip())[:80]
    except OSError:
        return ""
