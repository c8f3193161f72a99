"""Takes prompt plus answer for the answer, and ends too early.

caught by: test_those_who_finished_are_returned_and_only_they
code: returned_without_reason
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [
            s for s in self.running if s.is_finished or s.num_tokens >= s.request.max_tokens
        ]
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
