"""Changes self.running while looping over it, and so skips somebody.

caught by: test_a_finished_sequence_leaves_at_once_and_frees_its_blocks
code: only_one_leaves
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished]
        for s in self.running:
            if s.is_finished:
                self.running.remove(s)
                self.pool.free(s.block_table)
                s.block_table = []
        return finished
