"""del self.running[i] with indexes of before.

caught by: test_whoever_has_finished_leaves_at_once_and_leaves_its_blocks
code: stands_nowhere
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        places = [i for i, s in enumerate(self.running) if s.is_finished]
        finished = [self.running[i] for i in places]
        for i in places:
            del self.running[i]
        for s in finished:
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
