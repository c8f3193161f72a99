"""Makes the rows first, and admits for the next step.

caught by: test_a_prompt_is_computed_whole_in_one_row
code: running_have_no_rows
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while (
            self.waiting
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
        ):
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan(rows)
