"""A time limit for Python code that does not access arrays or wait: no counter would end it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class TooLong(BaseException):
    """Raised in the code under the limit, at any line, when its time is over."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TooLong in this thread, after `seconds` of processor time of this process.

    Catch it outside the `with` block: it may be raised as late as at its end.
    """
    us, lock = ctypes.c_ulong(threading.get_ident()), threading.Lock()

    ends, is_over = time.process_time() + seconds, threading.Event()

    def watch() -> None:
        while (left := ends - time.process_time()) > 0:
            if is_over.wait(max(left, 0.01)):
                return
        with lock:
            if not is_over.is_set():
                too_long = ctypes.py_object(TooLong)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(us, too_long)

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            is_over.set()  # a call: a pending TooLong is raised here, at the latest
