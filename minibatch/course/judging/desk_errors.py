"""What can go wrong at a desk, and what the learner is told of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may take, over all its tests but where a line says otherwise.

    seconds: of waiting for the learner's code, and of working out what it asks for.
    """

    seconds: float = 20.0
    memory_bytes: int = 4 * 2**30  # at a time
    printed_bytes: int = 8 * 2**20
    line_bytes: int = 8 * 2**20  # one answer
    answer_bytes: int = 64 * 2**20
    num_questions: int = 5000
    num_files: int = 500
    num_threads: int = 256
    files_bytes: int = 64 * 2**20


@dataclass(slots=True)
class DeskError(Exception):
    """The learner's code did not answer. `sentence` says what happened, to the learner.

    exception: the name of Python's exception class, where the learner's code raised one.
    """

    sentence: str
    frames: list[dict] = field(default_factory=list)  # of the learner's file: line, in, code
    exception: str = ""

    @property
    def codes(self) -> list[str]:
        """["raises_key_error"] for a KeyError; the sentence brings codes of its own beside it."""
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", self.exception)
        return ["_".join(["raises", *words]).lower()] if words else []

    def __str__(self) -> str:
        return self.sentence


class Raised(DeskError):
    """It raised an exception."""


class Died(DeskError):
    """Its process ended, or said something that no desk says."""


class TimedOut(DeskError):
    """It used up the task's time."""


class NotAttempted(DeskError):
    """The stub's own NotImplementedError, or a file that is not there."""


class Unsealed(Exception):
    """The desk was to be shut in, and this computer cannot: no verdict on the learner."""


def told(error: object, limits: Limits) -> DeskError:
    """What a desk says went wrong, as an exception."""
    error = error if isinstance(error, dict) else {}
    kind, message = str(error.get("type", "?"))[:100], str(error.get("message", ""))[:2000]
    told = error.get("frames")
    frames = [
        {
            "line": f.get("line"),
            "in": str(f.get("in", "")),
            "code": str(f.get("code", ""))[:200],
        }
        for f in (told[:8] if isinstance(told, list) else [])
        if isinstance(f, dict) and isinstance(f.get("line"), int)
    ]
    if kind == "NotImplementedError" and message.startswith("Exercise "):
        return NotAttempted(message, frames)
    if kind == "SystemExit":
        return Raised("[ends_the_program] it ended the program (sys.exit); return instead", frames)
    if kind == "MemoryError" and not message:
        most = limits.memory_bytes / 2**30
        return Raised(f"MemoryError: it asked for more than {most:g} GB", frames, kind)
    return Raised(f"{kind}: {message}" if message else kind, frames, kind)
