"""Who is admitted next. An order ranks those who wait; the lowest rank is next, ties go by queue.

Nobody is passed over because there is no room for them yet: whoever is next waits at the head until
there is. A long request would otherwise see short ones slip by for ever.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..core.plan import StepPlan
from ..core.request import Sequence

if TYPE_CHECKING:
    from .base import Scheduler


class Order:
    """One of your own derives from this and writes `rank`."""

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        """The lower, the sooner. now: seconds on the engine's clock."""
        raise NotImplementedError

    def next(self, scheduler: Scheduler, now: float) -> Sequence:
        """Of those who wait, one."""
        return min(scheduler.waiting, key=lambda s: self.rank(s, scheduler, now))

    def arrived(self, sequence: Sequence, scheduler: Scheduler) -> None:
        """It is about to join the queue."""

    def ran(self, plan: StepPlan) -> None:
        """These rows were computed."""


class FirstCome(Order):
    """As they came; who gave way stands at the head."""

    def next(self, scheduler: Scheduler, now: float) -> Sequence:
        return scheduler.waiting[0]


class Priority(Order):
    """The highest `Request.priority` first. aging: seconds of waiting that count as one more point,
    so that nobody waits for ever; None counts none. (vLLM counts the other way: low is urgent)

    With aging, whoever waits is passed only by those who came less than aging · (difference in
    priority) seconds later.
    """

    def __init__(self, aging: float | None = None) -> None:
        if aging is not None and not aging > 0:
            raise ValueError(f"aging is {aging}; give seconds above 0, or None")
        self.aging = aging

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        waited = (now - sequence.arrival_time) / self.aging if self.aging else 0.0
        return -(sequence.request.priority + waited)


class ShortestPrompt(Order):
    """The fewest tokens to compute before the next word. Mean TTFT is lowest; the long ones pay."""

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        return sequence.num_uncomputed_tokens


class LongestCachedPrefix(Order):
    """Who finds most of its tokens in the prefix cache. (SGLang's lpm)"""

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        prefixes = scheduler.pool.prefixes
        return -len(prefixes.find(sequence)) if prefixes is not None else 0.0


class FairShare(Order):
    """The client for whom fewest tokens were computed so far. (Sheng et al., 2024, "VTC")

    computed: tokens by client. A client who comes back after a pause starts level with the least
    served of those who are there: a pause saves up no claim.
    """

    def __init__(self) -> None:
        self.computed: Counter[str | None] = Counter()

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        return self.computed[sequence.request.client]

    def arrived(self, sequence: Sequence, scheduler: Scheduler) -> None:
        client = sequence.request.client
        here = {s.request.client for s in (*scheduler.waiting, *scheduler.running)}
        if here and client not in here:
            level = min(self.computed[other] for other in here)
            self.computed[client] = max(self.computed[client], level)

    def ran(self, plan: StepPlan) -> None:
        for row in plan.rows:
            self.computed[row.sequence.request.client] += row.num_tokens
