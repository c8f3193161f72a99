"""The graders' process: pytest, and a pipe of its own on which results leave, test by test.

    python -m minibatch.course.judging.run_graders [--ahead]

pytest's arguments come on standard input, a JSON list on one line. --ahead: for a notebook, which
will ask again. Before there is work, import what takes long; then do each piece of work in a copy
of this process that ends with it, where the system makes such copies (elsewhere this process does
the first itself, and ends). What is imported ahead is nobody's here: no room of minibatch, so that
an edit in it is never missed, and nothing of a submission, which no judge ever imports.

What pytest says goes to standard error. Nothing but this file writes to what was standard output,
no worker inherits it, and no report lies on a disk.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import TextIO

AHEAD = ("pytest", "hypothesis", "torch", "transformers.models.llama.modeling_llama")
MOST_BYTES = 4 * 2**30  # of this process: a false answer may ask it to compute with any number
LONGEST_WAIT_S = 15 * 60  # for work; then it is not worth its memory


def main(arguments: list[str]) -> int:
    """Do the work that comes; the exit status of the last pytest that ran here."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    _bound_memory()
    if "--ahead" not in arguments:
        return _judge(sys.stdin.readline(), report)
    for name in AHEAD:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.suppress(Exception):  # its first function makes numba read what it knows
        importlib.import_module("numba").njit(lambda: 0)()
    gc.freeze()  # what is here now is looked through, and so copied, by nobody
    while work := _next_work():
        if not _can_copy_itself():
            return _judge(work, report)
        if os.fork() == 0:
            os._exit(_judge(work, report))  # without tidying up what is not its own
        os.wait()
        report.write('{"end": true}\n')
    return 0


def _bound_memory() -> None:
    """A MemoryError ends one test, and nobody's computer. Libraries that are only mapped, such as
    CUDA's, do not count."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows; macOS
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = MOST_BYTES if hard == resource.RLIM_INFINITY else min(MOST_BYTES, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


def _judge(work: str, report: TextIO) -> int:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    import pytest

    class Reporter:
        @pytest.hookimpl(tryfirst=True)
        def pytest_configure(self, config: pytest.Config) -> None:
            config.send_to_judge = lambda **message: report.write(json.dumps(message) + "\n")

    status = int(pytest.main(json.loads(work), plugins=[Reporter()]))
    sys.stdout.flush()
    return status


def _next_work() -> str:
    """A line that says what to do; "" if whoever could ask has gone."""
    if not hasattr(signal, "alarm"):
        return sys.stdin.readline()
    signal.alarm(LONGEST_WAIT_S)
    work = sys.stdin.readline()
    signal.alarm(0)
    return work


def _can_copy_itself() -> bool:
    """Linux copies a process safely as long as it has one thread; others' libraries mind."""
    tasks = Path("/proc/self/task")
    return sys.platform == "linux" and tasks.is_dir() and len(list(tasks.iterdir())) == 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
