"""Takes the finished ones' rows out of the plan.

caught by: test_a_prompt_counts_with_all_its_tokens
code: update_changes_the_plan
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        plan.rows = [row for row in plan.rows if row.sequence not in finished]
        return finished
