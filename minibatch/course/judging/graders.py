"""The graders' process, seen from outside: a new one, or one that is ready and waits for work.

Most of a check's time is importing torch and transformers. So a notebook, which checks again, keeps
a process that has imported them (`ready`). To judge once, or a class, new processes are started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from weakref import WeakSet

from minibatch.course.exercises.source import exercises_folder
from minibatch.course.setup import ROOT
from minibatch.course.setup.process import environment_variables

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_VARIABLES = {**dict.fromkeys(_THREADS, "1"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
_working: WeakSet[Graders] = WeakSet()
_GROUPS = os.name == "posix"  # the process and its copies are ended together


class Graders:
    """A process that runs pytest. ahead: start it before there is work; see `run_graders`."""

    def __init__(self, ahead: bool = False) -> None:
        self.exercises = exercises_folder()
        self._output = tempfile.TemporaryFile("a+b")  # noqa: SIM115 (as long as this object)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "minibatch.course.judging.run_graders", *["--ahead"] * ahead],
            cwd=ROOT,
            env={**environment_variables(), **_VARIABLES},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            process_group=0 if _GROUPS else None,
        )
        _working.add(self)

    @property
    def can_work(self) -> bool:
        """Whether it runs, and the learner's folder is the one that it started with."""
        return self._process.poll() is None and self.exercises == exercises_folder()

    def run(
        self, arguments: list[str], seconds: float, receive: Callable[[dict], None]
    ) -> tuple[str, bool]:
        """Run pytest in it, and pass each message to `receive` at once.

        Returns the end of pytest's output, and whether it was ended after `seconds`.
        """
        begin, is_late, is_done = self._output.seek(0, os.SEEK_END), threading.Event(), False
        alarm = threading.Timer(seconds, lambda: (is_late.set(), self.close()))
        alarm.start()
        try:
            with contextlib.suppress(OSError):  # it has ended: its output says why
                self._process.stdin.write(json.dumps(arguments).encode() + b"\n")
                self._process.stdin.flush()
            for line in self._process.stdout:
                message = json.loads(line)
                if is_done := "end" in message:
                    break
                receive(message)
        finally:
            alarm.cancel()
            if not is_done:  # interrupted, late, or for one run only
                self.close()
        self._output.seek(begin)
        output = self._output.read().decode("utf-8", "replace")
        return "\n".join(output.splitlines()[-30:]), is_late.is_set()

    def close(self) -> None:
        """End the process and its copies."""
        if self._process.poll() is None and _GROUPS:
            with contextlib.suppress(ProcessLookupError):  # another thread has ended it just now
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        _working.discard(self)


def close_all() -> None:
    """End every such process, also those of other threads, as Ctrl-C does."""
    for graders in list(_working):
        graders.close()


_ready: Graders | None = None  # of this process, which is a notebook's


def ready() -> Graders:
    """The process that waits for this one's checks. The first time, it is a new one that works at
    once, while another one gets ready for the next check."""
    global _ready
    found = _ready if _ready is not None and _ready.can_work else Graders()
    if found is not _ready or sys.platform != "linux":  # on other systems each works once
        _ready = Graders(ahead=True)
    return found
