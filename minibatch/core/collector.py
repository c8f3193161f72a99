"""Python's garbage collector, held back while many small objects are made and none can be freed."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_held_back() -> Iterator[None]:
    """What runs inside is not stopped for walks over all that torch and transformers hold."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
