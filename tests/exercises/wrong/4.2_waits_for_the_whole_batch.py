"""Nobody leaves, or is returned, before all have finished.

caught by: test_whoever_has_finished_leaves_at_once_and_leaves_its_blocks
code: leaves_with_the_others
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            if not row.sequence.is_finished:
                row.sequence.advance(row.num_tokens, new, now)
        if not all(s.is_finished for s in self.running):
            return []
        finished = list(self.running)
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
