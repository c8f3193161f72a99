"""rows is an attribute of the class, which keeps old rows.

caught by: test_a_prompt_is_computed_whole_in_one_row
code: two_rows_in_one_plan
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    rows = []

    def plan(self, now):
        for s in self.running:
            self.rows.append(mb.Row(s, s.num_uncomputed_tokens))
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            self.rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(self.rows)
