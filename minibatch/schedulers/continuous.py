"""Iteration-level batching: every step, whoever has finished leaves and whoever waits may join."""

import math

from ..plan import Row, StepPlan
from ..request import Sequence
from .base import Scheduler


class Continuous(Scheduler):
    """A free slot never waits for the others. (Orca's iteration-level scheduling, Yu et al., 2022)

    Blocks are taken on demand. When the pool runs dry the newest running sequence gives way: its
    blocks come back, it returns to the head of the queue, and its K and V are recomputed later.

    max_batch_tokens: most tokens in one forward pass; a longer prompt is computed in chunks over
    several steps. None sets no limit. At least `max_batch_size`, so that no decode ever stalls.
    """

    def __init__(self, max_batch_size: int = 8, max_batch_tokens: int | None = None) -> None:
        super().__init__(max_batch_size)
        if max_batch_tokens is not None and max_batch_tokens < max_batch_size:
            raise ValueError(
                f"max_batch_tokens is {max_batch_tokens}; with max_batch_size {max_batch_size} it "
                f"must be {max_batch_size} or more, one token for each running sequence"
            )
        self.max_batch_tokens = max_batch_tokens

    def plan(self, now: float) -> StepPlan:
        rows: list[Row] = []
        budget = self.max_batch_tokens or math.inf
        num_waiting = len(self.waiting)
        while len(rows) < len(self.running):  # everyone already here goes on, oldest first
            sequence = self.running[len(rows)]
            n = min(sequence.num_uncomputed_tokens, budget)
            if not self.make_room(sequence, n):
                break
            self.grow(sequence, n)
            rows.append(Row(sequence, n))
            budget -= n
        if len(self.waiting) > num_waiting:
            return StepPlan(rows)  # someone gave way: admit no one into the room this made
        while budget > 0 and self.can_admit():
            n = min(self.waiting[0].num_uncomputed_tokens, budget)
            rows.append(Row(self.admit(now, n), n))
            budget -= n
        return StepPlan(rows)

    def make_room(self, sequence: Sequence, num_tokens: int) -> bool:
        """Preempt the newest until `sequence` can grow; False if it had to give way itself."""
        while not self.can_grow(sequence, num_tokens):
            victim = self.running[-1]
            self.preempt(victim)
            if victim is sequence:
                return False
        return True

    def can_admit(self) -> bool:
        """A slot is free, and the pool could hold all of the next one's tokens so far."""
        return (
            len(self.waiting) > 0
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].num_uncomputed_tokens)
        )

    def preempt(self, sequence: Sequence) -> None:
        """Give up a sequence's blocks; its tokens stay, their K and V will be recomputed."""
        self.release(sequence)
        sequence.num_computed_tokens = 0
        sequence.num_preemptions += 1
        self.waiting.appendleft(sequence)
