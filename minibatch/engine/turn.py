"""One thread at a time, and each act whole: a lock that is not waited for, and what follows a tear.

What begins under `whole` goes through, or is put right: at once, or before the next begins.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock


class Turn:
    """Taken by `with`; the thread that has it may take it again, from any other it is refused.

    settle: puts right what an exception has torn apart; may itself fail, and is called again then.
    """

    def __init__(self, settle: Callable[[], object]) -> None:
        self._lock, self._settle = RLock(), settle
        self._is_torn = self._is_busy = False

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "this engine is in the middle of a step in another thread; one thread at a time "
                "may use it: wait until that step has ended, or give each thread its own engine"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """What is done in here either goes through or is settled."""
        with self:
            if self._is_busy:  # a policy calls the engine that is just asking it
                yield
                return
            self._mend()
            self._is_torn = self._is_busy = True
            try:
                yield
                self._is_torn = False
            finally:
                self._is_busy = False
                with suppress(Exception):  # a policy may still be at fault; the first error is told
                    self._mend()

    def forget(self) -> None:
        """There is nothing left to put right."""
        self._is_torn = False

    def _mend(self) -> None:
        if self._is_torn:
            self._settle()
            self._is_torn = False
