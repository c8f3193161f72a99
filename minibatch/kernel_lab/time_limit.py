"""A limit of time, for Python code that touches nothing and meets nobody: no count would see it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TooLong(BaseException):
    """Raised wherever the code under the limit stands when its time is over."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TooLong in this thread. Catch it outside: it may come as late as on the way out."""
    us, lock = ctypes.c_ulong(threading.get_ident()), threading.Lock()

    def bark() -> None:
        with lock:
            if not timer.finished.is_set():  # cancelled
                too_long = ctypes.py_object(TooLong)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(us, too_long)

    timer = threading.Timer(seconds, bark)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            timer.cancel()  # a call: what waits to be raised is raised here, at the latest
