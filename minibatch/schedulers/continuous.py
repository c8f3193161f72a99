"""Iteration-level batching: every step, whoever has finished leaves and whoever waits may join."""

import math
from collections import deque

from ..core.other_names import POLICY, translates
from ..core.plan import Row, StepPlan
from ..core.request import Sequence
from .base import Scheduler


class Continuous(Scheduler):
    """A free slot never waits for the others. (Orca's iteration-level scheduling, Yu et al., 2022)

    A prompt's blocks are taken when it is admitted, an answer's on demand. When the pool runs dry
    the newest running sequence gives way: its blocks come back, it returns to the head of the
    queue, and its K and V are recomputed later.

    max_batch_tokens: most tokens in one forward pass; a longer prompt is computed in chunks over
    several steps. None sets no limit. At least `max_batch_size`, so that no decode ever stalls.
    """

    @translates(POLICY)
    def __init__(self, max_batch_size: int = 8, max_batch_tokens: int | None = None) -> None:
        super().__init__(max_batch_size)
        if max_batch_tokens is not None:
            self.limit_tokens(max_batch_tokens)

    def plan(self, now: float) -> StepPlan:
        rows: list[Row] = []
        budget = self.max_batch_tokens or math.inf
        num_waiting = len(self.waiting)
        begun = deque(sorted(self.running, key=lambda s: s.num_uncomputed_tokens > 1))
        while begun and budget:  # everyone already here goes on: decodes first, then prompts
            sequence = begun.popleft()
            n = min(sequence.num_uncomputed_tokens, budget)
            if self.make_room(sequence, n, begun):
                self.grow(sequence, n)
                rows.append(Row(sequence, n))
                budget -= n
        if len(self.waiting) > num_waiting:
            return StepPlan(rows)  # someone gave way: admit no one into the room this made
        while budget and self.can_admit():
            sequence = self.admit(now, self.waiting[0].num_tokens)
            n = min(sequence.num_uncomputed_tokens, budget)
            rows.append(Row(sequence, n))
            budget -= n
        return StepPlan(rows)

    def make_room(self, sequence: Sequence, num_tokens: int, others: deque[Sequence]) -> bool:
        """Preempt among `others`, not yet planned, until `sequence` can grow; False if it had to
        give way itself. The guard in `give_way` can be done without: whoever is admitted takes
        blocks for all its tokens so far, so one that lacks a block has got a token since."""
        while not self.can_grow(sequence, num_tokens):
            victim = self.choose_victim([sequence, *others])
            self.preempt(victim)
            if victim is sequence:
                return False
            others.remove(victim)
        return True

    def can_admit(self) -> bool:
        """A slot is free, and the pool could hold all of the next one's tokens so far."""
        return (
            len(self.waiting) > 0
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].num_uncomputed_tokens)
        )
