"""Returns whoever was planned.

caught by: test_a_prompt_counts_with_all_its_tokens
code: returned_without_reason
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        for s in [s for s in self.running if s.is_finished]:
            self.release(s)
        return [row.sequence for row in plan.rows]
