"""Iteration-level batching: in every step, finished requests leave and waiting ones may join."""

import math

from ..core.other_names import POLICY, translates
from ..core.plan import StepPlan
from .base import Scheduler


class Continuous(Scheduler):
    """A free slot never waits for the others. (Orca's iteration-level scheduling, Yu et al., 2022)

    A prompt's blocks are taken when it is admitted, an answer's on demand. When the pool has no
    free block, the newest running sequence is preempted: its blocks are released, it returns to the
    head of the queue, and its K and V are computed again later.

    max_batch_tokens: most tokens in one forward pass; a longer prompt is computed in chunks over
    several steps. None sets no limit. At least `max_batch_size`, so that no decode ever stalls.
    """

    @translates(POLICY)
    def __init__(self, max_batch_size: int = 8, max_batch_tokens: int | None = None) -> None:
        super().__init__(max_batch_size)
        if max_batch_tokens is not None:
            self.limit_tokens(max_batch_tokens)

    def plan(self, now: float) -> StepPlan:
        plan = StepPlan(num_left=self.max_batch_tokens or math.inf)
        for sequence in sorted(self.running, key=lambda s: s.num_uncomputed_tokens > 1):
            self.add_row(plan, sequence)  # running requests first: decodes, then prompts
        while not plan.preempted and plan.num_left and self.can_admit():
            sequence = self.admit(now, self.waiting[0].num_tokens)
            self.add_row(plan, sequence)
        return plan

    def can_admit(self) -> bool:
        """Whether a slot is free, and the pool has blocks for all tokens of the queue's head."""
        return (
            len(self.waiting) > 0
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].num_uncomputed_tokens)
        )
