"""The results of this learner so far: `progress.json` beside the exercises, not committed.

It is only a convenience: grades come from judging a submission, never from this file. If the folder
of the exercises is not writable (a course on a shared disk), it is in the learner's home.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from minibatch.course.exercises.source import Task, exercises_folder
from minibatch.course.setup import ROOT

SCOREBOARD = "scoreboard"  # its key in the file, beside those of the tasks
ARENA = "arena"


def learner_folder() -> Path | None:
    """The folder for this learner's data: that of the exercises, or else one for this course in the
    home folder; None if neither is writable."""
    beside = exercises_folder()
    if os.access(beside if beside.is_dir() else beside.parent, os.W_OK):
        return beside
    course = hashlib.sha256(str(beside).encode()).hexdigest()[:8]
    try:
        at_home = Path.home() / ".minibatch" / course
        at_home.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return at_home if os.access(at_home, os.W_OK) else None


@dataclass(slots=True)
class Entry:
    """One task. outcome: of the last verdict, "" before the first; file: the judged version."""

    outcome: str = ""
    points: float = 0
    max_points: float = 0
    checked: str = ""
    file: str = ""
    num_hints: int = 0


class Progress:
    """The file, as a table from task to `Entry`; written after each change. scoreboard: what
    `minibatch.course.scoreboard` keeps, as JSON values. arena: by division, the newest public
    score, the place among the shipped policies, and of how many."""

    def __init__(self) -> None:
        folder = learner_folder()
        self._path = folder / "progress.json" if folder else None
        try:
            data = json.loads(self._path.read_text(encoding="utf-8")) if self._path else {}
            self.scoreboard: dict = dict(data.pop(SCOREBOARD, {}))
            self.arena: dict = dict(data.pop(ARENA, {}))
            self._entries = {name: Entry(**entry) for name, entry in data.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            self._entries, self.scoreboard, self.arena = (
                {},
                {},
                {},
            )  # no file, or not readable: begin with none

    def __getitem__(self, task_id: str) -> Entry:
        return self._entries.setdefault(task_id, Entry())

    def note_verdict(self, task: Task, outcome: str, points: float, max_points: float) -> None:
        entry = self[task.id]
        entry.outcome, entry.points, entry.max_points = outcome, points, max_points
        entry.checked = datetime.now().isoformat(" ", "minutes")
        entry.file = self.fingerprint(task)
        self._save()

    def note_hint(self, task: Task, number: int) -> None:
        self[task.id].num_hints = max(self[task.id].num_hints, number)
        self._save()

    def note_scoreboard(self, values: dict) -> None:
        """Keep these values of the scoreboard; what they do not name stays."""
        self.scoreboard |= values
        self._save()

    def note_arena(self, division: str, score: float, place: int, of: int) -> None:
        """Keep a public score."""
        self.arena[division] = {"score": score, "place": place, "of": of}
        self._save()

    def is_current(self, task: Task) -> bool:
        """Whether the last verdict is about the present version of the file."""
        entry = self[task.id]
        return bool(entry.outcome) and entry.file == self.fingerprint(task)

    def fingerprint(self, task: Task) -> str:
        """A digest of what is judged: the exercise file, or the folders that a task changes."""
        paths = [exercises_folder() / task.file_name]
        if task.changes_minibatch:
            paths = sorted(path for room in task.may_change for path in (ROOT / room).rglob("*.py"))
        digest = hashlib.sha256()
        for path in paths:
            digest.update(path.read_bytes() if path.is_file() else b"")
        return digest.hexdigest()[:16]

    def _save(self) -> None:
        if self._path is None:
            print("Not stored: neither exercises/ nor your home folder can be written to.")
            return
        data = {name: asdict(entry) for name, entry in self._entries.items()}
        if self.scoreboard:
            data[SCOREBOARD] = self.scoreboard
        if self.arena:
            data[ARENA] = self.arena
        self._path.parent.mkdir(exist_ok=True)
        self._path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
