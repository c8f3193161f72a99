"""Thread blocks on a model GPU: each multiprocessor takes the next thread block when it is free.
The model has no caches and no shared bandwidth: it shows only which multiprocessors are busy."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Waves:
    """spans: (multiprocessor, begin, end) of each thread block, in order. makespan: the end of the
    last thread block. ideal: the end of all work if it could be divided evenly. busy: the share of
    the multiprocessors' time in which they work."""

    spans: list[tuple[int, float, float]]
    num_multiprocessors: int

    @property
    def ideal(self) -> float:
        return sum(end - begin for _, begin, end in self.spans) / self.num_multiprocessors

    makespan = property(lambda self: max(end for _, _, end in self.spans))
    busy = property(lambda self: self.ideal / self.makespan)


def waves_of(costs: Sequence[float], num_multiprocessors: int = 132) -> Waves:
    """costs: the time of each thread block, in any unit, such as the tokens that it reads."""
    free = [(0.0, number) for number in range(num_multiprocessors)]
    spans = []
    for cost in costs:
        begin, number = heapq.heappop(free)
        spans.append((number, begin, begin + cost))
        heapq.heappush(free, (begin + cost, number))
    return Waves(spans, num_multiprocessors)
