"""How many cores this process can use now: those that it uses, and those that are idle.

PyTorch cuts a product into one part for each thread and waits for the last part. If another program
holds a core, every product waits for it. So the engine gives PyTorch no more threads than there are
cores to run them.
"""

import time
from collections.abc import Callable

import psutil

INTERVAL = 0.25  # seconds between two looks; the system counts in hundredths


class Cores:
    """Looks at the system's counters, at most every INTERVAL seconds.

    now: a clock; idle: seconds that the cores of this machine were idle, added up; used: seconds
    of processor time of this process, all its threads together.
    """

    def __init__(
        self,
        now: Callable[[], float] = time.perf_counter,
        idle: Callable[[], float] = lambda: psutil.cpu_times().idle,
        used: Callable[[], float] = time.process_time,
    ) -> None:
        self._now, self._idle, self._used = now, idle, used
        self._last = now(), idle(), used()
        self._available: float | None = None

    def available(self, most: int) -> int:
        """Threads that find a core now, from 1 to `most`; `most` until it has looked twice."""
        if most > 1 and self._now() - self._last[0] >= INTERVAL:
            seen = self._now(), self._idle(), self._used()
            seconds, idle, used = (a - b for a, b in zip(seen, self._last, strict=True))
            self._last, self._available = seen, (idle + used) / seconds
        if self._available is None:
            return most
        return min(most, max(1, round(self._available)))
