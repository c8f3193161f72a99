"""A piece of a prompt brings no token, and is not counted.

caught by: test_a_row_without_a_token_still_counts
code: partial_prompt_not_advanced
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            if new:
                row.sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.release(s)
        return finished
