"""The errors of a worker, and their sentences for the learner."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one task may use, in all its tests together unless a line says otherwise.

    seconds: of waiting for the learner's code, and of computing the answers to its questions.
    cpu_seconds: of processors, all threads together; None is all cores during `seconds`.
    """

    seconds: float = 20.0
    memory_bytes: int = 4 * 2**30  # at a time
    printed_bytes: int = 8 * 2**20
    line_bytes: int = 8 * 2**20  # one answer
    answer_bytes: int = 64 * 2**20
    num_questions: int = 20_000
    num_files: int = 500
    num_threads: int = 256
    files_bytes: int = 64 * 2**20
    cpu_seconds: float | None = None


@dataclass(slots=True)
class WorkerError(Exception):
    """The learner's code did not answer. `sentence` tells the learner what happened.

    exception: the name of Python's exception class, where the learner's code raised one.
    """

    sentence: str
    frames: list[dict] = field(default_factory=list)  # of the learner's file: line, in, code
    exception: str = ""

    @property
    def codes(self) -> list[str]:
        """["raises_key_error"] for a KeyError; the sentence has its own codes besides."""
        words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", self.exception)
        return ["_".join(["raises", *words]).lower()] if words else []

    def __str__(self) -> str:
        return self.sentence


class Raised(WorkerError):
    """It raised an exception."""


class Died(WorkerError):
    """Its process ended, or sent something that no worker sends."""


class TimedOut(WorkerError):
    """It used up the task's time."""


class NotAttempted(WorkerError):
    """The stub's own NotImplementedError, or a missing file."""


class NoSandbox(Exception):
    """This computer has no sandbox, and one was asked for: no verdict on the learner."""


def reported_error(error: object, limits: Limits) -> WorkerError:
    """The error that a worker reports, as an exception."""
    error = error if isinstance(error, dict) else {}
    kind, message = str(error.get("type", "?"))[:100], str(error.get("message", ""))[:2000]
    reported = error.get("frames")
    frames = [
        {
            "line": f.get("line"),
            "in": str(f.get("in", "")),
            "code": str(f.get("code", ""))[:200],
        }
        for f in (reported[:8] if isinstance(reported, list) else [])
        if isinstance(f, dict) and isinstance(f.get("line"), int)
    ]
    if kind == "NotImplementedError" and message.startswith("Exercise "):
        return NotAttempted(message, frames)
    if kind == "SystemExit":
        sentence = "[ends_the_program] your code ended the program (sys.exit); return instead"
        return Raised(sentence, frames)
    if kind == "MemoryError" and not message:
        most = limits.memory_bytes / 2**30
        return Raised(f"MemoryError: your code needs more than {most:g} GB", frames, kind)
    return Raised(f"{kind}: {message}" if message else kind, frames, kind)
