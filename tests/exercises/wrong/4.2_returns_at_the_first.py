"""Returns inside of the loop: the rows behind are never taken in.

caught by: test_a_finished_sequence_leaves_at_once_and_frees_its_blocks
code: returns_inside_the_loop
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            s = row.sequence
            s.advance(row.num_tokens, new, now)
            if s.is_finished:
                self.running.remove(s)
                self.pool.free(s.block_table)
                s.block_table = []
                return [s]
        return []
