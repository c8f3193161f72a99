"""The line to a desk: a process, JSON there and back, and what its code prints.

Nothing that the other end says or does raises anything here but the errors of `desk_errors`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from minibatch.course.judging.desk_errors import Died, Limits, TimedOut, told

MAX_LINE_BYTES = 16 * 2**20
MAX_PRINTED_BYTES = 8 * 2**20
KEPT_CHARACTERS = 4000


class Line:
    """Opens a desk. settings: what it is told first; seconds_left: of waiting for its answers."""

    def __init__(
        self,
        settings: dict,
        work: Path,
        variables: dict[str, str],
        limits: Limits,
        seconds_left: float,
    ) -> None:
        self.limits, self.seconds_left = limits, seconds_left
        self.printed = ""
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-B", "-m", "minibatch.course.judging.desk"]
            + [json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=work,
            env=variables,
            start_new_session=os.name == "posix",
        )
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._flooded = self._is_closed = False
        for target, stream in (
            (self._read_answers, self._process.stdout),
            (self._read_prints, self._process.stderr),
        ):
            threading.Thread(target=target, args=(stream, self._answers), daemon=True).start()

    def send(self, message: dict) -> None:
        """A line to the desk. Raises Died."""
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._died() from None

    def receive(self) -> dict:
        """The next line from the desk. Raises Died or TimedOut."""
        begin = time.monotonic()
        try:
            line = self._answers.get(timeout=max(0, self.seconds_left))
        except queue.Empty:
            frames = self._interrupted()
            self.close()
            said = f"no end after {self.limits.seconds:g} s: is there a loop that never stops?"
            raise TimedOut(said, frames) from None
        finally:
            self.seconds_left -= time.monotonic() - begin
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
            return told(json.loads(self._answers.get(timeout=0.5)).get("error"), self.limits).frames
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

    def close(self) -> None:
        """End the desk and whatever it started in its group."""
        if not self._is_closed:  # once: its number may be another process's by now
            self._is_closed = True
            _end(self._process)

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
