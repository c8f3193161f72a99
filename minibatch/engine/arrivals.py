"""Those who are still to arrive: taken in by the engine, not yet known to its scheduler; and what
becomes of them at the door.

Who comes and finds the queue full is refused; who has waited past its deadline, and was never
admitted, is given up. Both end at once, and have cost nothing.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator

from ..core.completion import FinishReason
from ..core.request import Sequence
from ..schedulers import QueueFull, Scheduler


class Arrivals:
    """Soonest first; of those who come at the same time, in the order they were added."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Sequence]] = []
        self._deadlines: list[tuple[float, int, Sequence]] = []  # of those who have arrived
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

    def let_in(self, scheduler: Scheduler, now: float) -> Iterator[Sequence]:
        """Give those who have arrived to the scheduler; yields those who end here instead."""
        while (sequence := self.take(now)) is not None:
            try:
                self.check(scheduler, sequence, ())
            except QueueFull:
                yield _ended(sequence, "refused", now)
                continue
            if sequence.request.deadline is not None:
                time = sequence.arrival_time + sequence.request.deadline
                heapq.heappush(self._deadlines, (time, next(self._numbers), sequence))
            scheduler.add(sequence)
        while self._deadlines and self._deadlines[0][0] <= now:
            sequence = heapq.heappop(self._deadlines)[-1]
            if sequence.first_scheduled_time is None and not sequence.is_finished:
                yield _ended(sequence, "deadline", now)
                scheduler.abort(sequence)

    def check_door(self, scheduler: Scheduler, new: Iterable[Sequence], now: float) -> None:
        """Raises QueueFull, with the numbers, if one of these comes now, and there is no room in
        the queue behind those who have arrived before."""
        for sequence in new:
            if sequence.arrival_time <= now:
                here = [s for time, _, s in self._heap if time <= now and not s.is_finished]
                self.check(scheduler, sequence, here)

    def check(self, scheduler: Scheduler, sequence: Sequence, others: Iterable[Sequence]) -> None:
        """The same for a queue to which some others are still to be added."""
        if scheduler.limits is not None:
            waiting = [*scheduler.waiting, *others]
            scheduler.limits.check(sequence.request_id, sequence.num_tokens, waiting)

    def __iter__(self) -> Iterator[Sequence]:
        return (sequence for *_, sequence in self._heap)

    def clear(self) -> None:
        """Expect nobody."""
        self._heap.clear()
        self._deadlines.clear()


def _ended(sequence: Sequence, why: FinishReason, now: float) -> Sequence:
    sequence.given_up, sequence.abort_time = why, now
    return sequence
