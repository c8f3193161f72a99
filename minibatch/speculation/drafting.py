"""Draft tokens enter a plan here, before its forward pass.

    plan: rows of the policy ──> add_to: rows with drafts ──> run ──> update

Drafts use only what the policy left over: rows that decode, the rest of its token budget, and free
blocks. No request is preempted for a draft token. `BlockManager.after_pass` frees the blocks that
only rejected draft tokens needed.
"""

from __future__ import annotations

import math

from ..core.plan import Row, StepPlan
from ..core.request import Sequence
from ..schedulers import Scheduler
from ..schedulers.chunks import first_come_first_served
from .proposer import Guesser, as_proposer, checked


class Drafting:
    """The engine's side of speculation. Without a proposer it does nothing.

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
        if self.proposer is not None:
            self.proposer.bind(vocab_size, scheduler.max_batch_size, max_model_len)

    def add_to(self, plan: StepPlan) -> None:
        """Ask the proposer for draft tokens of the rows that decode, and give them blocks."""
        if self.proposer is None:
            return
        budget = self.scheduler.max_batch_tokens or math.inf
        budget = max(0, budget - sum(row.num_tokens for row in plan.rows))
        shares = first_come_first_served([self._most(row) for row in plan.rows], budget)
        rows = [(row, share) for row, share in zip(plan.rows, shares, strict=True) if share]
        if not rows:
            return
        sequences, most = [row.sequence for row, _ in rows], [share for _, share in rows]
        drafts = self.proposer.guess_all(sequences, most)
        for (row, share), draft in zip(rows, drafts, strict=True):
            self._add(row, checked(draft, share, self.vocab_size, self.proposer))

    def leave(self, sequence: Sequence) -> None:
        """This sequence has ended."""
        if self.proposer is not None:
            self.proposer.leave(sequence)

    def reset(self) -> None:
        """Forget all sequences."""
        if self.proposer is not None:
            self.proposer.reset()

    def _most(self, row: Row) -> int:
        """Most useful draft tokens of a row: after an answer's last token none is needed."""
        if row.kind != "decode" or row.num_padding_tokens or not row.reaches_end:
            return 0
        left = row.sequence.request.max_tokens - row.sequence.num_output_tokens
        return min(self.proposer.num_guesses, left - 1)

    def _add(self, row: Row, draft: list[int]) -> None:
        """Add as many of these draft tokens as free blocks hold."""
        scheduler, sequence = self.scheduler, row.sequence
        while draft and not scheduler.can_grow(sequence, 1 + len(draft)):
            draft = draft[:-1]
        if draft:
            num_blocks = len(sequence.block_table)
            scheduler.grow(sequence, 1 + len(draft))
            row.draft, row.num_draft_blocks = draft, len(sequence.block_table) - num_blocks
