"""Retires the batch as a whole: static batching again.

caught by: test_a_finished_sequence_leaves_at_once_and_frees_its_blocks
code: finished_does_not_leave
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        before = {row.sequence.request_id for row in plan.rows if row.sequence.is_finished}
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished and s.request_id not in before]
        if all(s.is_finished for s in self.running):
            for s in list(self.running):
                self.release(s)
        return finished
