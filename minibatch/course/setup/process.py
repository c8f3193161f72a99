"""Starts another program and waits until it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO

from minibatch.course.setup import ROOT

SIGN_EVERY_S = 10.0


def run(command: Sequence[str | Path], cwd: Path | None = None) -> int:
    """Run it on this terminal and return its exit status, 128 + n if signal n ended it."""
    return _run(command, cwd, lambda child: child.wait())


def run_ours(command: Sequence[str | Path]) -> int:
    """The same for a program of ours, which calls `accept_interrupts` first: Ctrl-C while Python
    itself starts is held until then, so it ends in our sentence and not in Python's traceback."""
    return _run(command, None, lambda child: child.wait(), start=_interrupts_held())


def accept_interrupts() -> None:
    """Take a Ctrl-C that `run_ours` has held, and from now on each at once."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """A program inherits what is held here. Windows has no such mask."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def watch(command: Sequence[str | Path], log: Path, progress: Callable[[], str], cwd: Path) -> int:
    """Run it, with its output in `log`; every SIGN_EVERY_S seconds print the elapsed time and
    `progress()`."""
    began = time.monotonic()

    def wait(child: subprocess.Popen[bytes]) -> int:
        while True:
            try:
                return child.wait(timeout=SIGN_EVERY_S)
            except subprocess.TimeoutExpired:
                minutes, seconds = divmod(round(time.monotonic() - began), 60)
                print(f"      {minutes}:{seconds:02}  {progress()}", flush=True)

    with log.open("ab") as log_file:
        log_file.write(f"\n$ {' '.join(map(str, command))}\n".encode())
        log_file.flush()
        return _run(command, cwd, wait, stdin=subprocess.DEVNULL, stdout=log_file, stderr=log_file)


def _run(
    command: Sequence[str | Path],
    cwd: Path | None,
    wait: Callable[[subprocess.Popen[bytes]], int],
    start: AbstractContextManager[None] | None = None,
    **streams: int | IO[bytes],
) -> int:
    """Ctrl-C reaches the program itself, which decides what to do (JupyterLab asks first). A
    request to terminate is passed on to it, so that it does not keep running."""
    child: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _frame: object) -> None:
        if child is not None and number == signal.SIGTERM:
            child.terminate()

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    sys.stdout.flush()  # ours first
    try:
        parts = list(map(str, command))
        with start or nullcontext():
            child = subprocess.Popen(parts, cwd=cwd, env=environment_variables(), **streams)
        status = wait(child)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def environment_variables() -> dict[str, str]:
    """Our variables; this checkout can then be imported from any folder, also in notebooks."""
    variables = dict(os.environ)
    variables.pop("PYTHONHOME", None)  # it would make .venv's Python use this one's packages
    variables["PIP_USER"] = "0"  # a user's own "1" does not work in a virtual environment
    others = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]
    ours = str(ROOT)
    variables["PYTHONPATH"] = os.pathsep.join([ours, *(path for path in others if path != ours)])
    return variables
