"""A learner's file on a desk, as the graders see it.

    student.call("padding_waste", [20, 45], 8)    # what the learner's function returned
    student.policy("MyContinuous", max_batch_size=3)    # see remote.py

What goes wrong over there is raised here, as one of the exceptions below; nothing that the desk
says or does can raise anything else.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from minibatch.course.exercises.source import PATCH, Task, exercises_folder
from minibatch.course.judging.desk_errors import Died, Limits, NotAttempted, TimedOut, told
from minibatch.course.judging.line import Line
from minibatch.course.judging.surroundings import (
    apply_patch,
    copy_package,
    copy_submission,
    restore_package,
    variables,
)
from minibatch.course.judging.values import pack, unpack
from minibatch.course.setup import ROOT


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
        self._printed = ""  # by the desk that was closed last
        self._seconds_used = 0.0
        self._line: Line | None = None
        self._temporary: tempfile.TemporaryDirectory | None = None
        self._models: list[object] = []

    # What graders use ----------------------------------------------------------------------------

    @property
    def printed(self) -> str:
        """The start of what the newest desk's code printed."""
        return self._printed if self._line is None else self._line.printed

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
        if self._line is None:
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
        if self._line is not None:
            self._line.close()
            self._printed = self._line.printed
            self._seconds_used = self.limits.seconds - self._line.seconds_left
            self._line = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    # The process ---------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._seconds_used >= self.limits.seconds:
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
        self._line = Line(
            settings,
            work,
            variables(package_root, work),
            self.limits,
            self.limits.seconds - self._seconds_used,
        )
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
        try:
            self._line.send({"do": what, "with": details})
            while True:
                reply = self._line.receive()
                if "ask" in reply:
                    self._line.send(self._answer(reply["ask"]))
                elif "value" in reply:
                    return reply["value"]
                else:
                    raise told(reply.get("error"), self.limits)
        except (Died, TimedOut):
            self.close()
            raise

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
