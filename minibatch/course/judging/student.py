"""A learner's file on a desk, as the graders see it.

    student.call("padding_waste", [20, 45], 8)    # what the learner's function returned
    student.policy("MyContinuous", max_batch_size=3)    # see remote.py

What goes wrong over there is raised here, as one of the exceptions below; nothing that the desk
says or does can raise anything else.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from minibatch.course.exercises.source import PATCH, Task, exercises_folder
from minibatch.course.judging.surroundings import (
    apply_patch,
    copy_package,
    copy_submission,
    restore_package,
    variables,
)
from minibatch.course.judging.values import pack, unpack
from minibatch.course.setup import ROOT

MAX_LINE_BYTES = 16 * 2**20
MAX_PRINTED_BYTES = 8 * 2**20
KEPT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Limits:
    """What one task may take. seconds: of waiting for the learner's code, over all its tests."""

    seconds: float = 20.0
    memory_bytes: int = 4 * 2**30


@dataclass(slots=True)
class DeskError(Exception):
    """The learner's code did not answer. `sentence` says what happened, to the learner."""

    sentence: str
    frames: list[dict] = field(default_factory=list)  # of the learner's file: line, in, code

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


class Student:
    """One task of one submission.

    folder: the submission, with files called as in exercises/. sealed: shut the desk in, as code of
    strangers wants it. withheld: modules that the desk gets placeholders for, with their class.
    """

    def __init__(
        self,
        folder: Path,
        task: Task,
        *,
        sealed: bool = False,
        limits: Limits | None = None,
        withheld: dict[str, str] | None = None,
    ) -> None:
        self.folder, self.task, self.sealed = folder.resolve(), task, sealed
        self.limits, self.withheld = limits or Limits(), withheld or {}
        self.printed = ""
        self.seconds_used = 0.0
        self._process: subprocess.Popen | None = None
        self._temporary: tempfile.TemporaryDirectory | None = None
        self._models: list[object] = []

    # What graders use ----------------------------------------------------------------------------

    def call(self, name: str, *args: object, **kwargs: object) -> object:
        """The learner's function `name`, called; returns its answer as plain data (values.py).

        An argument that can be called stands for a model: see `forward` in tests/exercises.
        """
        request = {
            "name": name,
            "args": [self._pack(value) for value in args],
            "kwargs": {key: self._pack(value) for key, value in kwargs.items()},
        }
        return self.unpacked(self.ask("call", **request))

    def ask(self, what: str, **details: object) -> object:
        """One request to the desk, and its answer, unchecked. Opens the desk if need be."""
        if self._process is None:
            self._start()
        return self._ask(what, details)

    def unpacked(self, packed: object) -> object:
        """An answer as values; garbage from the desk is `Died`."""
        try:
            return unpack(packed)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise Died(f"the answer is no value at all ({error})") from None

    def close(self) -> None:
        """End the desk and forget it; the next request opens a new one."""
        if self._process is not None:
            _end(self._process)
        self._process = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    # The process ---------------------------------------------------------------------------------

    def _start(self) -> None:
        if self.seconds_used >= self.limits.seconds:
            raise TimedOut(f"the {self.limits.seconds:g} s of this task are used up")
        path = self.folder / self.task.file_name
        if not path.is_file():
            raise NotAttempted(f"there is no {self.task.file_name}")
        self._temporary = tempfile.TemporaryDirectory(
            prefix="minibatch-desk-", ignore_cleanup_errors=True
        )
        room = Path(self._temporary.name).resolve()
        package_root = self._package(room)
        work = room / "work"
        work.mkdir()
        if self.sealed:  # it may read its submission, but not where the teacher keeps it
            copy = room / "submission"
            copy_submission(self.folder, copy)
            path = copy / path.name
        settings = {
            "file": str(path),
            "memory_bytes": self.limits.memory_bytes,
            "sealed": self.sealed,
            "readable": [str(package_root), str(path.parent), str(work)],
            "withheld": self.withheld,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-B", "-m", "minibatch.course.judging.desk"]
            + [json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=work,
            env=variables(package_root, work),
            start_new_session=os.name == "posix",
        )
        self.printed = ""
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._flooded = False
        for target, stream in (
            (self._read_answers, self._process.stdout),
            (self._read_prints, self._process.stderr),
        ):
            threading.Thread(target=target, args=(stream, self._answers), daemon=True).start()
        self._ask("open", {})

    def _package(self, room: Path) -> Path:
        """The folder to import minibatch from: the checkout itself, or a copy that was changed."""
        patch = self.folder / PATCH
        patched = self.task.changes_minibatch and patch.is_file()
        if self.task.changes_minibatch and not patched and self.folder != exercises_folder():
            raise NotAttempted(f"there is no {PATCH}")
        if not patched and not self.sealed:
            return ROOT
        copy = room / "package"
        withheld = {Path(*name.split(".")).with_suffix(".py") for name in self.withheld}
        copy_package(copy, withheld)
        if patched and not apply_patch(patch, copy):
            restore_package(copy)  # the checkout has edits of its own: start from the last commit
            if not apply_patch(patch, copy):
                raise Died(f"{PATCH} does not apply to this minibatch")
        return copy

    def _ask(self, what: str, details: dict) -> object:
        self._send({"do": what, "with": details})
        while True:
            reply = self._receive()
            if "ask" in reply:
                self._send(self._answer(reply["ask"]))
            elif "value" in reply:
                return reply["value"]
            else:
                raise self._raised(reply.get("error"))

    def _send(self, message: dict) -> None:
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._died() from None

    def _receive(self) -> dict:
        begin = time.monotonic()
        try:
            line = self._answers.get(timeout=max(0, self.limits.seconds - self.seconds_used))
        except queue.Empty:
            frames = self._interrupted()
            self.close()
            said = f"no end after {self.limits.seconds:g} s: is there a loop that never stops?"
            raise TimedOut(said, frames) from None
        finally:
            self.seconds_used += time.monotonic() - begin
        try:
            message = json.loads(line)
            if isinstance(message, dict):
                return message
        except (ValueError, RecursionError):
            pass
        raise self._died()

    def _interrupted(self) -> list[dict]:
        """Where the learner's code is at: what the desk answers to Ctrl-C, if it does at once."""
        if os.name != "posix":
            return []
        try:
            self._process.send_signal(signal.SIGINT)
            return self._raised(json.loads(self._answers.get(timeout=0.5)).get("error")).frames
        except (queue.Empty, ValueError, RecursionError, AttributeError):
            return []

    def _died(self) -> Died:
        process, flooded = self._process, self._flooded
        try:
            status = process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            status = None
        self.close()
        if flooded:
            return Died(
                f"it printed more than {MAX_PRINTED_BYTES // 2**20} MB; leave the prints out"
            )
        if status is None:
            return Died("its process stopped answering as it should")
        if status < 0:
            return Died(f"its process crashed ({_signal_name(-status)})")
        return Died(f"its process ended by itself, with exit status {status}")

    def _raised(self, error: object) -> DeskError:
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
            return Raised("it ended the program (sys.exit); return instead", frames)
        if kind == "MemoryError" and not message:
            most = self.limits.memory_bytes / 2**30
            return Raised(f"MemoryError: it asked for more than {most:g} GB", frames)
        return Raised(f"{kind}: {message}" if message else kind, frames)

    def _answer(self, question: object) -> dict:
        """Do what the desk asks in the middle of an answer: a forward pass of a stand-in model."""
        try:
            model = self._models[question["model"]]
            return {"value": model(question)}
        except Exception as error:  # wrong shapes, wrong kinds: the learner's to hear
            return {"error": f"{type(error).__name__}: {error}"[:1000]}

    def _pack(self, value: object) -> object:
        if isinstance(value, Callable):
            self._models.append(value)
            return {"model": len(self._models) - 1}
        return pack(value)

    # Listening -----------------------------------------------------------------------------------

    @staticmethod
    def _read_answers(stream: object, answers: queue.Queue) -> None:
        while line := stream.readline(MAX_LINE_BYTES):
            answers.put(line)
        answers.put(b"")  # the end: no JSON

    def _read_prints(self, stream: object, answers: queue.Queue) -> None:
        size = 0
        while chunk := stream.read1(65536):
            if len(self.printed) < KEPT_CHARACTERS:
                text = chunk.decode(errors="replace")
                self.printed += text[: KEPT_CHARACTERS - len(self.printed)]
            size += len(chunk)
            if size > MAX_PRINTED_BYTES:
                self._flooded = True
                answers.put(b"")
                break


def _end(process: subprocess.Popen) -> None:
    """End a desk and whatever it started in its group."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, 9)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()
    process.stdin.close() if not process.stdin.closed else None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
