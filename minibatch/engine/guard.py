"""One thread at a time, and recovery after an exception."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock


class Guard:
    """A lock that other threads do not wait for, and transactions that recover.

    recover: called after an exception inside a transaction. If it fails itself, it is called again
    before the next transaction begins.
    """

    def __init__(self, recover: Callable[[], object]) -> None:
        self._lock, self._recover = RLock(), recover
        self._must_recover = self._is_active = False

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "this engine is in the middle of a step in another thread; one thread at a time "
                "may use it: wait until that step has ended, or give each thread its own engine"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What runs inside either completes, or `recover` is called."""
        with self:
            if self._is_active:  # a policy calls the engine from inside a step
                yield
                return
            self.recover_if_needed()
            self._must_recover = self._is_active = True
            try:
                yield
                self._must_recover = False
            finally:
                self._is_active = False
                with suppress(Exception):  # the first error is the one to show
                    self.recover_if_needed()

    def recover_if_needed(self) -> None:
        """Recover, if a transaction has not completed."""
        with self:
            if self._must_recover and not self._is_active:
                self._recover()
                self._must_recover = False

    def clear(self) -> None:
        """Everything is about to be reset: there is nothing to recover."""
        with self:
            self._must_recover = False
