"""Forgets that a prompt's row computes many tokens.

caught by: test_a_prompt_counts_with_all_its_tokens
code: counter_went_up_by_one
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(1, new, now)
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.release(s)
        return finished
