"""Takes them out, and never gives their blocks back: the classic leak.

caught by: test_a_finished_sequence_leaves_at_once_and_frees_its_blocks
code: keeps_its_blocks
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished]
        self.running = [s for s in self.running if not s.is_finished]
        return finished
