"""Requests that are still to arrive, and what happens when they do: the queue takes them in,
refuses them, or ends them at their deadline.

The scheduler does not know of a request before it has arrived.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Iterable, Iterator

from ..core.completion import FinishReason
from ..core.request import Sequence
from ..schedulers import QueueFull, Scheduler

Event = tuple[float, int, Sequence]  # seconds, a number that breaks ties, and whose it is


class Arrivals:
    """Soonest first; of requests that come at the same time, in the order they were added."""

    def __init__(self) -> None:
        self._future: list[Event] = []  # a heap, by arrival time
        self._arrived: deque[Sequence] = deque()  # not yet in the scheduler's queue
        self._deadlines: list[Event] = []  # a heap, of those in the queue
        self._numbers = itertools.count()

    def add(self, sequence: Sequence) -> None:
        """Expect a sequence at its arrival time."""
        heapq.heappush(self._future, (sequence.arrival_time, next(self._numbers), sequence))

    def next_time(self, now: float) -> float | None:
        """When the next request arrives, in seconds on the engine's clock; None if none will."""
        if any(not sequence.is_finished for sequence in self._arrived):
            return now
        while self._future and self._future[0][-1].is_finished:  # aborted before it came
            heapq.heappop(self._future)
        return self._future[0][0] if self._future else None

    def next_deadline(self) -> float | None:
        """When the next request in the queue ends if it is not admitted; None without one."""
        while self._deadlines and not _waits(self._deadlines[0][-1]):
            heapq.heappop(self._deadlines)
        return self._deadlines[0][0] if self._deadlines else None

    def let_in(self, scheduler: Scheduler, now: float) -> Iterator[Sequence]:
        """Add what has arrived to the scheduler's queue. Yields the sequences that end here:
        refused, or past their deadline."""
        self._collect(now)
        while self._arrived:
            sequence = self._arrived.popleft()
            if sequence.is_finished:  # aborted before it came
                continue
            try:
                self._check_limits(scheduler, sequence, ())
            except QueueFull:
                yield end_early(sequence, "refused", now)
                continue
            if sequence.request.deadline is not None:
                time = sequence.arrival_time + sequence.request.deadline
                heapq.heappush(self._deadlines, (time, next(self._numbers), sequence))
            scheduler.add(sequence)
        while (time := self.next_deadline()) is not None and time <= now:
            sequence = end_early(self._deadlines[0][-1], "deadline", now)  # next_deadline drops it
            scheduler.abort(sequence)
            yield sequence

    def check_limits(self, scheduler: Scheduler, new: Iterable[Sequence], now: float) -> None:
        """Raises QueueFull, with the numbers, if one of these arrives now and the queue, with those
        that have arrived before, has no room for it."""
        if scheduler.limits is not None:
            arrived = [sequence for time, _, sequence in self._future if time <= now]
            others = [*self._arrived, *arrived]
            for sequence in new:
                if sequence.arrival_time <= now:
                    self._check_limits(scheduler, sequence, others)
                    others.append(sequence)

    def __iter__(self) -> Iterator[Sequence]:
        yield from self._arrived
        yield from (sequence for *_, sequence in self._future)

    def clear(self) -> None:
        """Expect no request."""
        self._future.clear()
        self._arrived.clear()
        self._deadlines.clear()

    def _collect(self, now: float) -> None:
        """Move what has arrived out of the future."""
        while self._future and self._future[0][0] <= now:
            self._arrived.append(heapq.heappop(self._future)[-1])

    def _check_limits(
        self, scheduler: Scheduler, sequence: Sequence, others: Iterable[Sequence]
    ) -> None:
        if scheduler.limits is not None:
            waiting = [*scheduler.waiting, *(s for s in others if not s.is_finished)]
            scheduler.limits.check(sequence.request_id, sequence.num_tokens, waiting)


def soonest(*times: float | None) -> float | None:
    """The earliest of these; None if all are None."""
    return min((time for time in times if time is not None), default=None)


def end_early(sequence: Sequence, reason: FinishReason, now: float) -> Sequence:
    """Mark it as ended at the time `now`, for this reason; returns it."""
    sequence.abort_reason, sequence.abort_time = reason, now
    return sequence


def _waits(sequence: Sequence) -> bool:
    """Whether it was never admitted and has not ended."""
    return sequence.first_scheduled_time is None and not sequence.is_finished
