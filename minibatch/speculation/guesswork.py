"""Where guesses come into a step, and where what they have taken goes back.

    plan ──> guess ──> run ──> take back ──> update

Guesses fill what the policy has left: they go into rows that decode, into the rest of its budget of
tokens, and into blocks that are free; nobody is preempted for a guess. Before changing this file:
an exception may come between any two lines. A block that was taken for a guess then stands in its
sequence's table, and the sequence will need it soon.
"""

from __future__ import annotations

import math

from ..core.plan import Row, StepPlan
from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..memory.sharing import num_lacking
from ..schedulers import Scheduler
from .proposer import Guesser, as_proposer, checked


class Guesswork:
    """The engine's side of speculation; without a proposer it does nothing, and takes no time.

    vocab_size, max_model_len: of the engine's model.
    """

    def __init__(
        self,
        proposer: Guesser | None,
        scheduler: Scheduler,
        vocab_size: int,
        max_model_len: int,
    ) -> None:
        self.proposer = as_proposer(proposer)
        self.scheduler, self.vocab_size = scheduler, vocab_size
        self._lent: list[tuple[Row, int]] = []  # rows with guesses; their tables' lengths before
        if self.proposer is not None:
            self.proposer.bind(vocab_size, scheduler.max_batch_size, max_model_len)

    def guess(self, plan: StepPlan) -> None:
        """Give rows that decode their drafts, and the blocks that these need."""
        if self.proposer is None:
            return
        budget = self.scheduler.max_batch_tokens or math.inf
        budget -= sum(row.num_tokens for row in plan.rows)
        rows, most, self._lent = [], [], []
        for row in plan.rows:
            limit = min(self._limit(row), budget)
            if limit > 0:
                rows.append(row)
                most.append(int(limit))
                budget -= limit
        if not rows:
            return
        guesses = self.proposer.guess_all([row.sequence for row in rows], most)
        for row, limit, some in zip(rows, most, guesses, strict=True):
            self._lend(row, checked(some, limit, self.vocab_size, self.proposer))
        self.scheduler.own_what_is_written(plan)
        self.scheduler.check(plan)

    def take_back(self, tokens: list[list[int]], plan: StepPlan) -> None:
        """Give blocks back that only refused guesses needed. tokens: what the rows produced."""
        if not self._lent:
            return
        pool = self.scheduler.pool
        new = {id(row): some for row, some in zip(plan.rows, tokens, strict=True)}
        for row, num_blocks in self._lent:
            stored = row.start + row.num_tokens + len(new[id(row)]) - 1
            table = row.sequence.block_table
            keep = max(num_blocks, -(-stored // pool.block_size))
            beyond = table[keep:]
            del table[keep:]
            pool.free(beyond)
        self._lent = []

    def leave(self, sequence: Sequence) -> None:
        """It has ended, or was given up."""
        if self.proposer is not None:
            self.proposer.leave(sequence)

    def reset(self) -> None:
        """As new."""
        self._lent = []
        if self.proposer is not None:
            self.proposer.reset()

    def _limit(self, row: Row) -> int:
        """Guesses worth making for this row: the last token of an answer needs none after it."""
        if row.kind != "decode" or row.num_padding_tokens or not row.reaches_end:
            return 0
        left = row.sequence.request.max_tokens - row.sequence.num_output_tokens
        return min(self.proposer.num_guesses, left - 1)

    def _lend(self, row: Row, draft: list[int]) -> None:
        """As many of these guesses as free blocks hold."""
        scheduler, sequence = self.scheduler, row.sequence
        pool: BlockPool = scheduler.pool
        while draft and num_lacking(pool, sequence, 1 + len(draft)) > pool.num_free:
            draft = draft[:-1]
        if draft:
            self._lent.append((row, len(sequence.block_table)))
            scheduler.grow(sequence, 1 + len(draft))
            row.draft = draft
