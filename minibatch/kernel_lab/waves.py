"""Thread blocks on a model GPU: so many multiprocessors, each takes the next thread block when it
has done one. No caches, no bandwidth that they share: only who works, and who has nothing to do."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Waves:
    """spans: of each thread block, in their order, (multiprocessor, begin, end). ideal: when all
    would be done if the work could be cut at will."""

    spans: list[tuple[int, float, float]]
    num_multiprocessors: int

    @property
    def makespan(self) -> float:
        """When the last thread block is done."""
        return max(end for _, _, end in self.spans)

    @property
    def ideal(self) -> float:
        return sum(end - begin for _, begin, end in self.spans) / self.num_multiprocessors

    @property
    def busy(self) -> float:
        """The share of the multiprocessors' time in which they work."""
        return self.ideal / self.makespan


def waves(costs: Sequence[float], num_multiprocessors: int = 132) -> Waves:
    """costs: how long each thread block takes, in any unit: the tokens it reads, say."""
    free = [(0.0, number) for number in range(num_multiprocessors)]
    spans = []
    for cost in costs:
        begin, number = heapq.heappop(free)
        spans.append((number, begin, begin + cost))
        heapq.heappush(free, (begin + cost, number))
    return Waves(spans, num_multiprocessors)
