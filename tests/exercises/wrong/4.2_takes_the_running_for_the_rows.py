"""Takes the order of self.running for that of the rows.

caught by: test_a_row_without_a_token_still_counts
code: taken_by_another
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for sequence, row, new in zip(self.running, plan.rows, tokens, strict=True):
            sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished]
        for sequence in finished:
            self.running.remove(sequence)
            self.pool.free(sequence.block_table)
            sequence.block_table = []
        return finished
