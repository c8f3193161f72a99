"""Asks whether the last token that a row brought ends the answer; one before it may.

caught by: test_a_row_may_bring_several_tokens
code: end_before_the_last_token
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        finished = []
        for row, new in zip(plan.rows, tokens, strict=True):
            sequence = row.sequence
            sequence.advance(row.num_tokens, new, now)
            is_long = sequence.num_output_tokens >= sequence.request.max_tokens
            if new and (is_long or new[-1] in sequence.stop_token_ids):
                finished.append(sequence)
        for sequence in finished:
            self.running.remove(sequence)
            self.pool.free(sequence.block_table)
            sequence.block_table = []
        return finished
