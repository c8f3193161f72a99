"""The connection to a worker: its process, JSON in both directions, and what its code prints.

A worker may send anything. Here it can raise only the errors of worker_errors.py. It cannot fill
the judge's memory: `Limits` bounds what is read from it; a worker that exceeds a limit is ended.
It cannot keep the judge waiting for longer than the task's seconds. While other threads of the
judge compute, its answers may wait for the interpreter; of that time a tenth is booked on it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from minibatch.course.judging.pipes import Pipes, ThreadPipes
from minibatch.course.judging.plain_text import all_plain, plain
from minibatch.course.judging.worker_errors import Died, Limits, TimedOut, reported_error
from minibatch.course.judging.worker_usage import num_threads, writes_too_much

KEPT_CHARACTERS = 4000
_WATCH_SECONDS = 0.2
PIPES = Pipes if os.name == "posix" else ThreadPipes


class Connection:
    """Starts a worker. settings: its first message; seconds_left: of waiting for its answers."""

    def __init__(
        self,
        settings: dict,
        work: Path,
        variables: dict[str, str],
        limits: Limits,
        seconds_left: float,
    ) -> None:
        self.limits, self.seconds_left = limits, seconds_left
        self.work = work
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-B", "-P", "-m", "minibatch.course.judging.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=work,
            env=variables,
            start_new_session=os.name == "posix",
        )
        self._printed = b""
        self._too_much = ""  # what went beyond the limits
        self._closed = threading.Event()
        self._printing = threading.Thread(target=self._read_prints, daemon=True)
        self._printing.start()
        threading.Thread(target=self._watch, daemon=True).start()
        self._pipes = PIPES(self._process, limits, self._stop, self._closed)
        self.send(settings)

    @property
    def printed(self) -> str:
        """The start of what its code printed."""
        return plain(self._printed.decode(errors="replace"))[:KEPT_CHARACTERS]

    def send(self, message: dict) -> None:
        """Send a message. Raises TimedOut if the worker does not read what was sent before."""
        data = json.dumps(message).encode() + b"\n"
        with self._booked():
            is_sent = self._pipes.send(data, max(0.1, self.seconds_left))
        if not is_sent:
            self.close()
            raise TimedOut(
                "[does_not_listen] your code's process asks questions but does not read the answers"
            )

    def receive(self) -> dict:
        """The worker's next message. Raises Died or TimedOut."""
        line = None
        while line is None and self.seconds_left > 0:
            with self._booked():
                line = self._pipes.receive(max(0.1, self.seconds_left))
        if line is None:
            computed = self.computed_seconds()
            frames = self._interrupted()
            self.close()
            sentence = (
                "[code_does_not_end] "
                f"your code had not ended after {self.limits.seconds:g} s: does a loop never end?"
            )
            if computed is not None and computed < self.limits.seconds / 4:
                sentence = (
                    "[code_waits] "
                    f"your code had not ended after {self.limits.seconds:g} s, and computed for "
                    f"only {computed:.1f} s of them: does it wait for something? If not, other "
                    "programs keep this computer busy: try again."
                )
            raise TimedOut(sentence, frames)
        try:
            message = json.loads(line)
            if isinstance(message, dict):
                return all_plain(message) if b"\\" in line or not line.isascii() else message
        except (ValueError, RecursionError):
            pass
        raise self._died()

    @contextlib.contextmanager
    def _booked(self) -> Iterator[None]:
        """Book the time of a `with` block on the worker, without what the judge computed meanwhile;
        but at least a tenth of it, so that a worker that waits ends beside a busy judge, too."""
        begin, computed = time.monotonic(), time.process_time()
        try:
            yield
        finally:
            waited, computed = time.monotonic() - begin, time.process_time() - computed
            self.seconds_left -= max(waited / 10, waited - computed)

    def computed_seconds(self) -> float | None:
        """Seconds of a processor that the worker has used; None if the system does not say."""
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return None
        return times.user + times.system

    def _interrupted(self) -> list[dict]:
        """Where the learner's code is: the worker's answer to Ctrl-C, if it comes at once."""
        if os.name != "posix":
            return []
        try:
            self._process.send_signal(signal.SIGINT)
            answer = all_plain(json.loads(self._pipes.receive(1.5) or b""))
            return reported_error(answer.get("error"), self.limits).frames
        except (ValueError, RecursionError, AttributeError):
            return []

    def _died(self) -> Died:
        try:
            status = self._process.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            status = None
        self.close()
        if self._too_much:
            return Died(self._too_much)
        if status is None:
            return Died(
                "[worker_stopped_answering] your code's process stopped giving valid replies"
            )
        if status == -getattr(signal, "SIGXCPU", 0):
            return Died(
                "[processor_time_used_up] your code used up the processor time of this task"
            )
        if status < 0:
            return Died(f"[worker_crashed] your code's process crashed ({_signal_name(-status)})")
        return Died(f"[worker_ended] your code ended the process, with exit status {status}")

    def close(self) -> None:
        """End the worker and the processes of its group."""
        if not self._closed.is_set():  # once: another process may have its number by now
            self._closed.set()
            _end(self._process)
            self._printing.join(1)  # for its last prints

    # Each in a thread of its own -----------------------------------------------------------------

    def _read_prints(self) -> None:
        size, most = 0, self.limits.printed_bytes
        while chunk := self._process.stderr.read1(65536):
            self._printed += chunk[: max(0, 4 * KEPT_CHARACTERS - len(self._printed))]
            size += len(chunk)
            if size > most:
                self._stop(
                    "[prints_too_much] "
                    f"your code printed more than {most // 2**20} MB; remove the prints"
                )
                break

    def _watch(self) -> None:
        """Count its files and threads: no limit of the system does."""
        pid, limits = self._process.pid, self.limits
        while not self._closed.wait(_WATCH_SECONDS):
            if num_threads(pid) > (most := limits.num_threads):
                self._stop(f"[starts_too_many_threads] your code started more than {most} threads")
            if writes_too_much(pid, self.work, limits.num_files, limits.files_bytes):
                self._stop(
                    "[writes_too_many_files] "
                    f"your code wrote more than {limits.num_files:,} files or "
                    f"{limits.files_bytes // 2**20} MB"
                )

    def _stop(self, why: str) -> None:
        self._too_much = self._too_much or why
        self._process.kill()


def _end(process: subprocess.Popen) -> None:
    """End a worker and the processes of its group."""
    try:
        if os.name == "posix":
            os.killpg(process.pid, 9)
        else:
            process.kill()
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
