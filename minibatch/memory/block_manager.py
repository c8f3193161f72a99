"""The only writer of block tables: blocks are shared, appended and released here.

    waiting   [ ]                          holds nothing
    share     [ s s ]                      full blocks that hold its first tokens already
    append    [ s s | n n n ]              new blocks, which it alone may write
    release   [ ]                          every hold is given back to the pool

The pool counts holders; this file decides which block is where in which table. Only full blocks are
shared, and a sequence that shares them computes the rest into blocks of its own. So no shared block
is ever written, and nothing has to be copied. (vLLM V1 does the same. Copy-on-write, as in Kwon et
al., 2023, section 4.4, is exercise 5.3.)
"""

from ..core.plan import StepPlan
from ..core.request import Sequence
from .blocks import BlockPool


class BlockManager:
    """Block tables over one pool. All state is in the pool and in the tables."""

    def __init__(self, pool: BlockPool) -> None:
        self.pool = pool

    def num_missing(self, sequence: Sequence, num_tokens: int, waits: bool = False) -> int:
        """Free blocks that it takes to compute `num_tokens` more tokens. waits: it will share
        blocks when it is admitted; those that another sequence holds now take no free block."""
        missing = sequence.num_new_blocks(num_tokens, self.pool.block_size)
        if waits and self._may_share(sequence):
            held = [i for i in self.shareable(sequence) if self.pool.ref_count(i)]
            missing = max(0, missing - len(held))
        return missing

    def shareable(self, sequence: Sequence) -> list[int]:
        """Full blocks that hold the beginning of its tokens now: those of the prompt that it was
        forked from, or those in the prefix cache, whichever are more. The last token is never among
        them, since it must be computed for its logits."""
        found = [] if self.pool.prefixes is None else self.pool.prefixes.find(sequence)
        if (parent := sequence.parent) is not None:
            num_tokens = min(sequence.num_prompt_tokens - 1, parent.num_computed_tokens)
            of_parent = parent.block_table[: num_tokens // self.pool.block_size]
            found = max(found, of_parent, key=len)
        return found

    def share(self, sequence: Sequence) -> None:
        """Hold the blocks that `shareable` finds, and count their tokens as computed."""
        if not self._may_share(sequence):
            return
        found = self.shareable(sequence)
        if self.pool.prefixes is not None:
            self.pool.prefixes.note(sequence, len(found))
        self.pool.share(found)
        sequence.block_table = found
        sequence.num_computed_tokens = len(found) * self.pool.block_size

    def append(self, sequence: Sequence, num_tokens: int) -> None:
        """Add the new blocks needed to compute `num_tokens` more tokens. Raises MemoryError if
        fewer are free, and ValueError for a sequence that has ended: nothing will compute them."""
        if sequence.is_finished:
            raise ValueError(
                f"request {sequence.request_id} has ended; append blocks to live requests only"
            )
        missing = sequence.num_new_blocks(num_tokens, self.pool.block_size)
        if missing:
            sequence.block_table += self.pool.allocate(missing)

    def after_pass(self, plan: StepPlan) -> None:
        """The rows of this plan were computed. Free the blocks that only rejected draft tokens
        needed, and make full blocks known to the prefix cache."""
        for row in plan.rows:
            if row.num_draft_blocks:
                self._shorten(row.sequence, row.num_draft_blocks)
            if self.pool.prefixes is not None and row.sequence.block_table:
                self.pool.prefixes.register(row.sequence)

    def release(self, sequence: Sequence) -> None:
        """Give every hold back. Full blocks stay in the prefix cache until they are allocated."""
        if self.pool.prefixes is not None:
            self.pool.prefixes.leave(sequence)
        self.pool.free(sequence.block_table)
        sequence.block_table = []

    def _may_share(self, sequence: Sequence) -> bool:
        knows_some = self.pool.prefixes is not None or sequence.parent is not None
        return knows_some and not sequence.block_table

    def _shorten(self, sequence: Sequence, most: int) -> None:
        """Free up to `most` blocks at the table's end that hold no computed token."""
        table = sequence.block_table
        num_used = -(-sequence.num_computed_tokens // self.pool.block_size)
        keep = max(num_used, len(table) - most)
        unused = table[keep:]
        del table[keep:]
        self.pool.free(unused)
