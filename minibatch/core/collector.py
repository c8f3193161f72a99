"""Python's garbage collector: held back while many small objects are made and none can be freed,
and kept from walks over all that was imported."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def freeze_imports() -> None:
    """Once in a process: the collector no longer visits the objects that exist now. torch and
    transformers have 400,000; to visit them takes 0.2 s, in the middle of a step. (vLLM freezes
    when its engine has started, too, in freeze_gc_heap.)"""
    if not gc.get_freeze_count():
        gc.freeze()


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
