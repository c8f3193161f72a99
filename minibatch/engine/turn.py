"""One thread at a time: a lock that is not waited for."""

from threading import RLock


class Turn:
    """Taken by `with`; the thread that has it may take it again, from any other it is refused."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "this engine is in the middle of a step in another thread; one thread at a time "
                "may use it: wait until that step has ended, or give each thread its own engine"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()
