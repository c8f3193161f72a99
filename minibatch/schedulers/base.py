"""What every policy shares: the queue, the running set, and what happens to tokens that come back.

A policy is one method, `plan(now)`. The rest, here, it may use or replace:

    add ──> waiting ── admit ──> running ── update ──> finished
               ^                    │
               └───── preempt ──────┘

`plan` may admit, preempt and take blocks, and may be called again if the forward pass failed; so it
asks what a sequence still *needs*, never what it got last time. Sequences advance only in `update`,
after the forward pass.
"""

from abc import ABC, abstractmethod
from collections import deque

from ..blocks import BlockPool
from ..clock import Clock
from ..plan import StepPlan
from ..request import Sequence


class Scheduler(ABC):
    """Decides who runs. `pool` and `clock` are there once the engine has called `bind`.

    max_batch_size: most sequences in one forward pass, at least 1.
    """

    def __init__(self, max_batch_size: int = 8) -> None:
        if max_batch_size < 1:
            raise ValueError(f"max_batch_size is {max_batch_size}; it must be 1 or more")
        self.max_batch_size = max_batch_size
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.pool: BlockPool | None = None
        self.clock: Clock | None = None

    def bind(self, pool: BlockPool, clock: Clock) -> None:
        """Called once, by the engine. Raises RuntimeError if another engine has it already."""
        if self.pool is not None:
            raise RuntimeError(
                f"this {type(self).__name__} scheduler already serves an engine; make a new one"
            )
        self.pool, self.clock = pool, clock

    @abstractmethod
    def plan(self, now: float) -> StepPlan:
        """The rows of the next forward pass."""

    def update(self, plan: StepPlan, tokens: list[int | None], now: float) -> list[Sequence]:
        """Take in what the forward pass computed; returns the sequences that finished.

        tokens: one per row of the plan; None for a row that did not reach its sequence's end.
        """
        finished = []
        for row, token in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, token, now)
            if token is not None and row.sequence.is_finished:
                finished.append(row.sequence)
        self.retire(finished)
        return finished

    def check(self, plan: StepPlan) -> None:
        """Refuse a plan that would be computed wrongly, with a ValueError that says why."""
        plan.check(self.pool.block_size)
        size = self.max_batch_size
        if len(plan.rows) > size:
            raise ValueError(f"{len(plan.rows)} rows planned; max_batch_size is {size}")
        for name in (r.sequence.request_id for r in plan.rows if r.sequence not in self.running):
            raise ValueError(f"request {name!r} has a row but does not run; admit it in plan()")

    def add(self, sequence: Sequence) -> None:
        self.waiting.append(sequence)

    def abort(self, sequence: Sequence) -> None:
        """Forget a sequence, wherever it stands, and take its blocks back."""
        if sequence in self.waiting:
            self.waiting.remove(sequence)
        elif sequence in self.running:
            self.release(sequence)

    # What policies are made of ------------------------------------------------------------------

    def admit(self, now: float, num_tokens: int) -> Sequence:
        """Move the head of the queue into the running set, with blocks for `num_tokens` tokens."""
        sequence = self.waiting[0]
        self.grow(sequence, num_tokens)
        self.running.append(self.waiting.popleft())
        if sequence.first_scheduled_time is None:
            sequence.first_scheduled_time = now
        return sequence

    def grow(self, sequence: Sequence, num_tokens: int) -> None:
        """Give a sequence the blocks it lacks to compute `num_tokens` more tokens."""
        missing = sequence.num_new_blocks(num_tokens, self.pool.block_size)
        sequence.block_table += self.pool.allocate(missing)

    def can_grow(self, sequence: Sequence, num_tokens: int) -> bool:
        return sequence.num_new_blocks(num_tokens, self.pool.block_size) <= self.pool.num_free

    def release(self, sequence: Sequence) -> None:
        """Take a sequence out of the running set and give its blocks back."""
        self.running.remove(sequence)
        self.pool.free(sequence.block_table)
        sequence.block_table = []

    def retire(self, finished: list[Sequence]) -> None:
        """What becomes of finished sequences: they leave at once."""
        for sequence in finished:
            self.release(sequence)
