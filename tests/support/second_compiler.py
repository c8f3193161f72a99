"""The compiler that `setup --cuda` installs, where .ci/second-compiler has put it."""

import ctypes
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / ".ci" / "nvvm"


def library():
    """The path of its libnvvm; None if it is not installed."""
    return next(FOLDER.glob("nvidia/*/lib/libnvvm.so*"), None)


@contextmanager
def second_compiler():
    """call(function, *arguments), in a process in which numba compiles with it."""
    context = get_context("spawn")
    with ProcessPoolExecutor(1, context, initializer=_use, initargs=(library(),)) as process:
        yield lambda *call: process.submit(*call).result()


def _use(library):
    sys.path.insert(0, str(FOLDER))  # numba takes libdevice from the first package on the path
    ctypes.CDLL(library)  # numba uses a libnvvm that is already loaded
