"""Hands each sequence the tokens of the whole step.

caught by: test_a_row_without_a_token_still_counts
code: took_anothers_token
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        everything = [token for new in tokens for token in new]
        for row in plan.rows:
            row.sequence.advance(row.num_tokens, everything, now)
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
