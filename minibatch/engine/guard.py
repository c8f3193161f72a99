"""One thread at a time, and recovery after an exception.

Before changing this file: Ctrl-C may come between any two lines, also here. So the owner is one
attribute, set first and cleared first, with no call between; a lock or a context manager has lines
of its own in which an interrupt would leave it taken for ever.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import get_ident
from typing import TypeVar

Result = TypeVar("Result")


class Guard:
    """Runs transactions, one thread at a time; other threads are refused and do not wait.

    recover: called after an exception inside a transaction. If it fails itself, it is called again
    before the next transaction begins.
    """

    def __init__(self, recover: Callable[[], object]) -> None:
        self._recover = recover
        self._owner: int | None = None  # the thread whose transaction runs
        self._must_recover = False

    def run(self, call: Callable[[], Result]) -> Result:
        """Call it: it either completes, or `recover` is called."""
        me = get_ident()
        if self._owner == me:  # a policy calls the engine from inside a step
            return call()
        if self._owner is not None:
            raise RuntimeError(
                "this engine is in the middle of a step in another thread; only one thread at a "
                "time may use it: wait until that step has ended, or give each thread its own "
                "engine"
            )
        try:
            self._owner = me
            self._recover_now()
            self._must_recover = True
            result = call()
            self._must_recover = False
            return result
        finally:
            self._owner = None
            with suppress(Exception):  # the first error is the one to show
                self.recover_if_needed()

    def recover_if_needed(self) -> None:
        """Recover, if a transaction has not completed and none runs."""
        me = get_ident()
        if self._must_recover and self._owner is None:
            try:
                self._owner = me
                self._recover_now()
            finally:
                self._owner = None

    def clear(self) -> None:
        """Everything is about to be reset: there is nothing to recover."""
        if self._owner is None:
            self._must_recover = False

    def _recover_now(self) -> None:
        if self._must_recover:
            self._recover()
            self._must_recover = False
