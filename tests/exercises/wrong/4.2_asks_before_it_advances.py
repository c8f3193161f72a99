"""Asks who has finished before it advances them.

caught by: test_whoever_has_finished_leaves_at_once_and_leaves_its_blocks
code: end_token_does_not_end
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        finished = [s for s in self.running if s.is_finished]
        for row, new in zip(plan.rows, tokens, strict=True):
            if row.sequence not in finished:
                row.sequence.advance(row.num_tokens, new, now)
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
