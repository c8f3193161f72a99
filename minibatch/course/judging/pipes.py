"""Lines to and from a worker's process, by its two pipes.

`Pipes` waits in the thread that asks, so a line wakes one thread only: with a thread for each pipe,
a match of the arena took three times as long. Windows cannot wait for a pipe and give up after some
time, so there `ThreadPipes` has these threads.

Before changing this file: a worker may send anything, or read nothing. Nothing here may wait for
longer than it is asked to, or keep more than one line and one piece of the next.
"""

from __future__ import annotations

import contextlib
import os
import queue
import select
import subprocess
import threading
import time
from collections.abc import Callable

from minibatch.course.judging.worker_errors import Limits

_PIECE = 65536  # bytes, of one read
_WATCH_SECONDS = 0.2


class _Counted:
    """What both have: how much a worker may send. stop: called with the reason, to end it."""

    def __init__(self, limits: Limits, stop: Callable[[str], object]) -> None:
        self._limits, self._stop, self._size = limits, stop, 0

    def _is_allowed(self, line: bytes | bytearray) -> bool:
        """Whether it may send this line, too. A line without its end is not a whole one."""
        most = self._limits
        self._size += len(line)
        if self._size > most.answer_bytes:
            self._stop(
                "[answers_too_long] "
                f"your code's answers have more than {most.answer_bytes // 2**20} MB"
            )
        elif len(line) > most.line_bytes or (
            len(line) == most.line_bytes and not line.endswith(b"\n")
        ):
            self._stop(
                f"[answer_too_long] your code gave an answer of more than {most.line_bytes:,} bytes"
            )
        else:
            return True
        return False


class Pipes(_Counted):
    """The pipes of a process. One thread at a time may send or receive."""

    def __init__(
        self,
        process: subprocess.Popen,
        limits: Limits,
        stop: Callable[[str], object],
        closed: threading.Event,
    ) -> None:
        super().__init__(limits, stop)
        self._process = process  # which keeps them open
        self._stdin, self._stdout = process.stdin.fileno(), process.stdout.fileno()
        for pipe in (self._stdin, self._stdout):
            os.set_blocking(pipe, False)
        self._readable, self._writable = select.poll(), select.poll()
        self._readable.register(self._stdout, select.POLLIN)
        self._writable.register(self._stdin, select.POLLOUT)
        self._buffer, self._searched = bytearray(), 0  # so many bytes of it have no line's end

    def send(self, data: bytes, seconds: float) -> bool:
        """False if the worker has not taken it after so many seconds."""
        rest, end = memoryview(data), time.monotonic() + seconds
        while rest:
            try:
                rest = rest[os.write(self._stdin, rest) :]
            except BlockingIOError:
                if not _is_ready(self._writable, end):
                    return False
            except OSError:  # it has ended: `receive` says so
                break
        return True

    def receive(self, seconds: float) -> bytes | None:
        """The next line; None if there is none after so many seconds; b"" at the end."""
        buffer, end = self._buffer, time.monotonic() + seconds
        while not (size := buffer.find(b"\n", self._searched) + 1):
            self._searched = len(buffer)
            if self._searched >= self._limits.line_bytes:
                size = self._searched
                break
            if not _is_ready(self._readable, end):
                return None
            if not (piece := self._read()):
                size = self._searched
                break
            buffer += piece
        line = bytes(buffer[:size])
        del buffer[:size]
        self._searched = 0
        return line if self._is_allowed(line) else b""

    def _read(self) -> bytes:
        try:
            return os.read(self._stdout, _PIECE)
        except OSError:
            return b""


def _is_ready(pipe: select.poll, end: float) -> bool:
    """Whether something can be done with it before the clock says `end`."""
    left = end - time.monotonic()
    return left > 0 and bool(pipe.poll(1000 * left))


class ThreadPipes(_Counted):
    """The same, with a thread for each pipe. closed: ends them."""

    def __init__(
        self,
        process: subprocess.Popen,
        limits: Limits,
        stop: Callable[[str], object],
        closed: threading.Event,
    ) -> None:
        super().__init__(limits, stop)
        self._process, self._closed = process, closed
        self._answers: queue.Queue[bytes] = queue.Queue(maxsize=2)
        self._messages: queue.Queue[bytes] = queue.Queue(maxsize=2)
        for work_of in (self._read_answers, self._write):
            threading.Thread(target=work_of, daemon=True).start()

    def send(self, data: bytes, seconds: float) -> bool:
        """False if the worker has not taken what was sent before, after so many seconds."""
        try:
            self._messages.put(data, timeout=seconds)
        except queue.Full:
            return False
        return True

    def receive(self, seconds: float) -> bytes | None:
        """The next line; None if there is none after so many seconds; b"" at the end."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def _read_answers(self) -> None:
        while line := self._process.stdout.readline(self._limits.line_bytes):
            if not self._is_allowed(line):
                break
            if not self._hand_over(line):
                return
        self._hand_over(b"")  # the end: no JSON

    def _hand_over(self, line: bytes) -> bool:
        """Put it where `receive` finds it; False once the connection is closed."""
        while not self._closed.is_set():
            try:
                self._answers.put(line, timeout=_WATCH_SECONDS)
                return True
            except queue.Full:
                continue
        return False

    def _write(self) -> None:
        with contextlib.suppress(OSError, ValueError):  # it has ended: `receive` says so
            while not self._closed.is_set():
                with contextlib.suppress(queue.Empty):
                    self._process.stdin.write(self._messages.get(timeout=_WATCH_SECONDS))
                    self._process.stdin.flush()
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()
