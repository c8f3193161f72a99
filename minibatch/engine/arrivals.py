"""Those who are still to arrive: taken in by the engine, not yet known to its scheduler."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator

from ..core.request import Sequence


class Arrivals:
    """Soonest first; of those who come at the same time, in the order they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Sequence]] = []
        self._numbers = itertools.count()

    def add(self, sequence: Sequence) -> None:
        """Expect a sequence at its arrival time."""
        heapq.heappush(self._heap, (sequence.arrival_time, next(self._numbers), sequence))

    @property
    def next_time(self) -> float | None:
        """When the next one comes, in seconds on the engine's clock; None if nobody will."""
        while self._heap and self._heap[0][-1].is_finished:  # given up before it came
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def or_sooner(self, time: float | None) -> float | None:
        """This time, or when the next one comes, whichever is sooner; None if there is neither."""
        return min((t for t in (time, self.next_time) if t is not None), default=None)

    def take(self, now: float) -> Sequence | None:
        """The next one, if it has arrived by now; it is expected no more."""
        if self.next_time is None or self.next_time > now:
            return None
        return heapq.heappop(self._heap)[-1]

    def __iter__(self) -> Iterator[Sequence]:
        return (sequence for *_, sequence in self._heap)

    def clear(self) -> None:
        """Expect nobody."""
        self._heap.clear()
