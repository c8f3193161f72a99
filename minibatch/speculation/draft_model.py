"""Draft tokens from a smaller model, which has a paged KV cache of its own.

For each sequence of the engine it keeps a copy, one step behind or some rejected tokens ahead:

    the engine's   [ p p p p p | a b c d ]          a b were accepted, x was rejected: c came
    its copy       [ p p p p p | a b x y ]  then    [ p p p p p | a b c d ]
    K and V          . . . . .   . . .                . . . . .   . .       those of x are dropped

A draft token for an output position uses the random number that the engine will use there. So two
models that nearly agree nearly always draw the same token. (Leviathan et al., and Chen et al.,
2023, compare probabilities instead, and draw again after a rejection.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.plan import Row, StepPlan
from ..core.request import Sequence
from ..memory.block_manager import BlockManager
from ..memory.blocks import BlockPool, enough_blocks
from .proposer import Proposer

if TYPE_CHECKING:
    from ..model.load import Model


class DraftModel(Proposer):
    """Proposes what `model` would generate; one forward pass of it proposes one token for each
    sequence.

    model: with the same vocabulary as the engine's own. num_guesses: most draft tokens in a step.
    num_blocks, block_size: of its KV cache; None is enough for a full batch of longest sequences,
    or what a quarter of the free memory holds. A sequence without a free block gets no draft.
    pool: its blocks, there once an engine has it.
    """

    def __init__(
        self,
        model: Model,
        num_guesses: int = 4,
        *,
        num_blocks: int | None = None,
        block_size: int = 16,
    ) -> None:
        super().__init__(num_guesses)
        self.model, self.num_blocks, self.block_size = model, num_blocks, block_size
        self.pool: BlockPool | None = None
        self._own: dict[Sequence, Sequence] = {}  # by the engine's

    def bind(self, vocab_size: int, max_batch_size: int, max_model_len: int) -> None:
        if self.pool is not None:
            raise RuntimeError("this DraftModel already serves an engine; make a new one")
        if self.model.vocab_size != vocab_size:
            raise ValueError(
                f"the draft model has {self.model.vocab_size:,} token ids and the engine's model "
                f"{vocab_size:,}; they must share a tokenizer"
            )
        num_blocks = self.num_blocks
        if num_blocks is None:
            longest = min(max_model_len, self.model.max_model_len)
            affordable = self.model.num_affordable_blocks(self.block_size) / 2
            num_blocks = enough_blocks(max_batch_size, longest, self.block_size, affordable)
        self.pool = BlockPool(num_blocks, self.block_size)
        self._blocks = BlockManager(self.pool)
        self.runner = self.model.runner(self.pool, "auto")

    def unused(self) -> DraftModel:
        return DraftModel(
            self.model, self.num_guesses, num_blocks=self.num_blocks, block_size=self.block_size
        )

    def guess_all(self, sequences: list[Sequence], most: list[int]) -> list[list[int]]:
        own = [self._caught_up(sequence) for sequence in sequences]
        longest = [
            min(sequence.num_tokens + limit, self.model.max_model_len)
            for sequence, limit in zip(sequences, most, strict=True)
        ]
        going = list(zip(own, longest, strict=True))
        while going := [
            (mine, end)
            for mine, end in going
            if mine.num_tokens < end and not mine.is_finished and self._has_room(mine, own)
        ]:
            plan = StepPlan([Row(mine, mine.num_uncomputed_tokens) for mine, _ in going])
            for row, new in zip(plan.rows, self.runner.run(plan), strict=True):
                row.sequence.advance(row.num_tokens, new, 0.0)
        pairs = zip(own, sequences, strict=True)
        return [mine.token_ids[sequence.num_tokens :] for mine, sequence in pairs]

    def leave(self, sequence: Sequence) -> None:
        if sequence in self._own:
            self._release(self._own.pop(sequence))

    def reset(self) -> None:
        self._own.clear()
        self.pool.reset()

    def _caught_up(self, sequence: Sequence) -> Sequence:
        """The copy of that sequence, with the same tokens. Computed tokens stay computed if they
        were accepted. The newest is always computed again, since its logits are needed."""
        mine = self._own.get(sequence)
        if mine is None:
            mine = self._own[sequence] = Sequence(
                sequence.request,
                sequence.request_id,
                [],
                sequence.num_prompt_tokens,
                sequence.stop_token_ids,
                sequence.seed,
            )
        true = min(mine.num_computed_tokens, sequence.num_tokens - 1)
        while mine.token_ids[:true] != sequence.token_ids[:true]:
            true -= 1
        mine.num_computed_tokens = true
        mine.token_ids = list(sequence.token_ids)
        return mine

    def _has_room(self, mine: Sequence, others: list[Sequence]) -> bool:
        """Give it blocks for its next tokens, if necessary those of sequences that take no part in
        this step. False if there are too few."""
        missing = mine.num_new_blocks(mine.num_uncomputed_tokens, self.block_size)
        if missing > self.pool.num_free:
            for idle in set(self._own.values()).difference(others):
                self._release(idle)
        if missing > self.pool.num_free:
            return False
        self._blocks.append(mine, mine.num_uncomputed_tokens)
        return True

    def _release(self, mine: Sequence) -> None:
        mine.num_computed_tokens = 0
        self._blocks.release(mine)
