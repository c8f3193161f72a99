"""A time limit for Python code that does not access arrays or wait: no counter would end it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PAUSE = 0.05  # seconds between two looks at the clock


class TooLong(BaseException):
    """Raised in the code under the limit, at any line, when its time is over."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TooLong in this thread, after `seconds` of processor time of this process.

    Catch it outside the `with` block: it may be raised as late as at its end.
    """
    us, lock, is_over = threading.get_ident(), threading.Lock(), threading.Event()
    ends = time.process_time() + seconds

    def watch() -> None:
        while time.process_time() < ends and not is_over.is_set():
            is_over.wait(PAUSE)
        with lock:
            if not is_over.is_set():
                raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in(ctypes.c_ulong(us), ctypes.py_object(TooLong))

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            is_over.set()  # a call: a pending TooLong is raised here, at the latest
