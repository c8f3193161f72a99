"""Takes the row of a prompt for one that cannot end an answer.

caught by: test_those_who_finished_are_returned_and_only_they
code: first_token_is_the_last
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        finished = []
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
            if row.num_tokens == 1 and row.sequence.is_finished:
                finished.append(row.sequence)
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
