"""Writes token_ids and the counter itself; nobody knows when the tokens came.

caught by: test_a_prompt_counts_with_all_its_tokens
code: time_not_noted
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.token_ids += new
            row.sequence.num_computed_tokens += row.num_tokens
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
