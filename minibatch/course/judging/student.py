"""A worker with a learner's file, as the graders see it.

    student.call("padding_waste", [20, 45], 8)    # what the learner's function returned

If the worker fails, one of the exceptions of worker_errors.py is raised here; a worker cannot raise
anything else, whatever it sends.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from minibatch.course.exercises.source import Task
from minibatch.course.judging.connection import Connection
from minibatch.course.judging.given_function import GivenFunction
from minibatch.course.judging.sandbox import NEEDED
from minibatch.course.judging.submitted_edits import edited_package
from minibatch.course.judging.values import pack, unpack
from minibatch.course.judging.withheld import replacement
from minibatch.course.judging.worker_errors import (
    Died,
    Limits,
    NoSandbox,
    NotAttempted,
    TimedOut,
    WorkerError,
    reported_error,
)
from minibatch.course.judging.worker_files import (
    copy_submission,
    module_file,
    remove,
    variables,
    without,
)
from minibatch.course.setup import ROOT

START_SECONDS = 60.0  # until the learner's file is read: on a busy computer that is not their time
_TORCH = re.compile(r"^(import|from) torch\b", re.MULTILINE)


class Student:
    """One task of one submission.

    folder: the submission, with files called as in exercises/. sandbox: True requires one; None
    uses what this computer has; False uses none. withheld: modules that contain the answer, and
    the parts that the worker gets a placeholder for (withheld.py). work_in: where it makes the
    worker's folder; None is the system's folder for temporary files.
    """

    def __init__(
        self,
        folder: Path,
        task: Task,
        *,
        sandbox: bool | None = None,
        limits: Limits | None = None,
        withheld: dict[str, str | list[str]] | None = None,
        work_in: Path | None = None,
    ) -> None:
        self.folder, self.task, self.sandbox = folder.resolve(), task, sandbox
        self.limits, self.withheld = limits or Limits(), withheld or {}
        self._work_in = work_in
        self._printed = ""  # by the worker that was closed last
        self._seconds_used = 0.0
        self._connection: Connection | None = None
        self._room: Path | None = None
        self._models: list[object] = []
        self._num_questions = 0

    @property
    def printed(self) -> str:
        """The start of what the code of the newest worker printed."""
        return self._printed if self._connection is None else self._connection.printed

    def cpu_seconds(self) -> float:
        """Processor seconds of the newest worker, as the system counts them."""
        return 0.0 if self._connection is None else self._connection.computed_seconds() or 0.0

    def call(self, name: str, *args: object, **kwargs: object) -> object:
        """Call the learner's function `name`; returns its answer as plain data (values.py).

        An argument that can be called stands for a model: see `forward` in tests/exercises. A
        plain function is given as a `GivenFunction`.
        """
        request = {
            "name": name,
            "args": [self._pack(value) for value in args],
            "kwargs": {key: self._pack(value) for key, value in kwargs.items()},
        }
        return self.unpacked(self.ask("call", **request))

    def calls(self, name: str, several: list[list]) -> list:
        """The same for each list of arguments, which must be plain data. One message has them all,
        so this is much quicker. The first call that fails raises its exception."""
        found = self.unpacked(self.ask("calls", name=name, calls=pack(several)))
        if isinstance(found, list) and len(found) == len(several):
            return found
        raise Died("[answered_too_seldom] your code's process did not answer every call")

    def again(self, name: str, several: list[list]) -> list:
        """The same by a caller that keeps its lists, see worker_again.py: of each answer, as it was
        at first, and as it is later."""
        pairs = self.unpacked(self.ask("again", name=name, calls=pack(several)))
        counts = [len(pair) for pair in pairs if type(pair) is list] if type(pairs) is list else []
        if counts != [2] * len(several) or len(pairs) != len(several):
            raise Died("[answered_otherwise] your code's process did not answer every call")
        return pairs

    def run_async(self, name: str, scene: Callable[[dict], object], calls: list[list]) -> object:
        """Run the learner's coroutine function, once for each list of arguments, all at once.

        scene answers what its event loop asks, see worker_async.py. An argument {"given": {"name":
        …, "kind": …}} stands for a function of the scene: "coroutine", "iterator" or "function".
        """
        return self.ask("run_async", name=name, calls=calls, scene=self._pack(scene))

    def objects(self, name: str, calls: list[tuple[int, str, list]]) -> object:
        """Call methods of objects of the learner's class, see worker_object.py."""
        packed = [[number, method, pack(arguments)] for number, method, arguments in calls]
        return self.ask("objects", name=name, calls=packed)

    def ask(self, what: str, **details: object) -> object:
        """One request to the worker, and its answer, unchecked. Starts the worker if necessary."""
        if self._connection is None:
            try:
                self._start()
            except (WorkerError, NoSandbox):
                self.close()
                raise
        return self._ask(what, details)

    def unpacked(self, packed: object) -> object:
        """An answer as values. Raises Died for what no worker sends."""
        try:
            return unpack(packed)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise Died(f"[answer_is_no_value] your answer cannot be read ({error})") from None

    def close(self) -> None:
        """End the worker; the next request starts a new one."""
        if self._connection is not None:
            self._connection.close()
            self._printed = self._connection.printed
            used = self.limits.seconds - self._connection.seconds_left
            self._seconds_used = max(self._seconds_used, used)
            self._connection = None
        if self._room is not None:
            remove(self._room)
            self._room = None

    def interrupt(self) -> None:
        """End the worker from another thread. The thread that asks gets `Died`, and closes."""
        if (connection := self._connection) is not None:
            connection.close()

    # The process ---------------------------------------------------------------------------------

    def _start(self) -> None:
        if self._seconds_used >= self.limits.seconds:
            most = f"{self.limits.seconds:g} s"
            raise TimedOut(f"[task_time_used_up] the limit of {most} for this task is used up")
        path = self.folder / self.task.file_name
        if not path.is_file() and not self.task.changes_minibatch:
            raise NotAttempted(f"[no_such_file] there is no {self.task.file_name}")
        self._room = Path(tempfile.mkdtemp(prefix="minibatch-worker-", dir=self._work_in)).resolve()
        work = self._room / "work"
        work.mkdir()
        package = edited_package(self.task, self.folder, self._room)
        if self.sandbox is not False:  # it may read its submission, not where the teacher keeps it
            copy_submission(self.folder, self._room / "submission")
            path = self._room / "submission" / path.name
        files = {name: module_file(name) for name in self.withheld}
        settings = {
            "file": str(path),
            "memory_bytes": self.limits.memory_bytes,
            "seconds": self.limits.seconds,
            "cpu_seconds": self.limits.cpu_seconds,
            "package": str(package) if package else "",
            "withheld": {n: replacement(files[n], what) for n, what in self.withheld.items()},
            "sandbox": self._sandbox_limits(path.parent, package, work, set(files.values())),
        }
        self._connection = Connection(settings, work, variables(work), self.limits, START_SECONDS)
        holds = self._ask("enter_sandbox", {})
        missing = [part for part in NEEDED if part not in holds]
        if self.sandbox and missing:
            raise NoSandbox(
                "[no_sandbox_here] "
                f"this computer has no sandbox for submissions: no {' and no '.join(missing)}"
            )
        if path.is_file() and _TORCH.search(path.read_text(encoding="utf-8", errors="replace")):
            self._ask("import_ahead", {"name": "torch"})
        self._connection.seconds_left = self.limits.seconds - self._seconds_used
        self._ask("open", {})

    def _sandbox_limits(
        self, submission: Path, package: Path | None, work: Path, hidden: set[Path]
    ) -> dict:
        """What `sandbox.enter` gets; {} if there is to be none."""
        if self.sandbox is False:
            return {}
        readable, listable = without(ROOT / "minibatch", hidden)
        readable += [submission, *([package] if package else [])]
        return {
            "readable": list(map(str, readable)),
            "listable": list(map(str, listable)),
            "own": str(work),
            "own_bytes": 2 * self.limits.files_bytes,  # worker_usage.py stops it at half
        }

    def _ask(self, what: str, details: dict) -> object:
        try:
            self._connection.send({"do": what, "with": details})
            while True:
                reply = self._connection.receive()
                if "ask" in reply:
                    self._connection.send(self._answer(reply["ask"]))
                elif "value" in reply:
                    return reply["value"]
                else:
                    raise reported_error(reply.get("error"), self.limits)
        except (Died, TimedOut):
            self.close()
            raise

    def _answer(self, question: object) -> dict:
        """Answer a question that the worker asks in between: of a stand-in model, or a function."""
        self._num_questions += 1
        if self._num_questions > self.limits.num_questions:
            most = f"the given functions more than {self.limits.num_questions:,} times"
            raise Died(f"[calls_what_is_given_too_often] your code called {most}")
        begin = time.monotonic()
        try:
            model = self._models[question["model"]]
            return {"value": model(question)}
        except Exception as error:  # of wrong shapes and types: the learner gets the message
            return {"error": f"{type(error).__name__}: {error}"[:1000]}
        finally:
            self._connection.seconds_left -= time.monotonic() - begin

    def _pack(self, value: object) -> object:
        if isinstance(value, Callable):
            if not any(model is value for model in self._models):
                self._models.append(value)
            number = next(i for i, model in enumerate(self._models) if model is value)
            if isinstance(value, GivenFunction):
                return {"function": number}
            return {"model": number, "device": getattr(value, "device", "cpu")}
        return pack(value)
