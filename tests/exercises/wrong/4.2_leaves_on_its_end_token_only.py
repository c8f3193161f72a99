"""Forgets that an answer may also end at max_tokens.

caught by: test_the_finished_sequences_are_returned_and_no_others
code: max_tokens_do_not_end
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        finished = []
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
            if new and new[-1] in row.sequence.stop_token_ids:
                finished.append(row.sequence)
                self.running.remove(row.sequence)
                self.pool.free(row.sequence.block_table)
                row.sequence.block_table = []
        return finished
