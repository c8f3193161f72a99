"""Which request is admitted next. An order ranks the waiting requests; the lowest rank is next, and
of equal ranks the first in the queue.

The next request is never passed over because there is no room for it yet: it waits until there is.
Otherwise short requests could overtake a long one without end.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..core.plan import StepPlan
from ..core.request import Sequence

if TYPE_CHECKING:
    from .base import Scheduler


class Order:
    """An order of your own derives from this and writes `rank`."""

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        """The lowest rank is next. now: seconds on the engine's clock."""
        raise NotImplementedError

    def next(self, scheduler: Scheduler, now: float) -> Sequence:
        """The waiting sequence of the lowest rank."""
        return min(scheduler.waiting, key=lambda s: self.rank(s, scheduler, now))

    def arrived(self, sequence: Sequence, scheduler: Scheduler) -> None:
        """Called before a sequence joins the queue."""

    def ran(self, plan: StepPlan) -> None:
        """Called after these rows were computed."""

    def reset(self) -> None:
        """Forget what was learned. Called by `Engine.reset`."""


class FirstCome(Order):
    """In order of arrival; a preempted request is at the head."""

    def next(self, scheduler: Scheduler, now: float) -> Sequence:
        return scheduler.waiting[0]


class Priority(Order):
    """The highest `Request.priority` first. aging: seconds of waiting that count as one more point,
    so that no request waits without end; None counts none. (vLLM: the lowest number is urgent)

    With aging, a request is overtaken only by requests that came less than
    aging · (difference in priority) seconds later.
    """

    def __init__(self, aging: float | None = None) -> None:
        if aging is not None and not aging > 0:
            raise ValueError(f"aging is {aging}; give seconds above 0, or None")
        self.aging = aging

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        waited = (now - sequence.arrival_time) / self.aging if self.aging else 0.0
        return -(sequence.request.priority + waited)


class ShortestPrompt(Order):
    """The fewest uncomputed tokens first. Mean TTFT is lowest; long prompts wait longest."""

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        return sequence.num_uncomputed_tokens


class LongestCachedPrefix(Order):
    """The most tokens in the prefix cache first. (SGLang's lpm)"""

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> float:
        prefixes = scheduler.pool.prefixes
        return -len(prefixes.find(sequence)) if prefixes is not None else 0.0


class FairShare(Order):
    """The client with the fewest computed tokens first. (Sheng et al., 2024, "VTC")

    computed: tokens by client. A client that returns after a pause starts at the count of the least
    served client that is present: a pause earns no credit.
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

    def reset(self) -> None:
        self.computed.clear()
