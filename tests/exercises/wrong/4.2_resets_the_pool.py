"""Resets the whole pool when somebody leaves.

caught by: test_whoever_has_finished_leaves_at_once_and_leaves_its_blocks
code: others_blocks_given_back
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.running.remove(s)
            self.pool.reset()
            s.block_table = []
        return finished
