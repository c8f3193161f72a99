"""Request-level batching with a window: wait for more requests, then run them as a static batch.

How a batch is *formed* is flexible. How it runs is not: `Static` does the rest.
"""

import math

from ..core.other_names import POLICY, translates
from ..core.plan import StepPlan
from .static import Static


class Dynamic(Static):
    """Starts when `max_batch_size` wait, or when the oldest has waited `max_wait` seconds."""

    @translates(POLICY)
    def __init__(self, max_batch_size: int = 8, max_wait: float = 0.05) -> None:
        super().__init__(max_batch_size)
        if not (math.isfinite(max_wait) and max_wait >= 0):
            raise ValueError(f"max_wait is {max_wait}; give seconds, 0 or more")
        self.max_wait = max_wait

    def plan(self, now: float) -> StepPlan:
        if not self.running and self.waiting:
            deadline = self.deadline()
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return StepPlan(wake_at=deadline)
        return super().plan(now)

    def deadline(self) -> float:
        """When the waiting requests start even if they are fewer than `max_batch_size`: seconds on
        the engine's clock."""
        return self.waiting[0].arrival_time + self.max_wait
