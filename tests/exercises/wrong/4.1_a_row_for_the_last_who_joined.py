"""Admits in a loop, and makes the newcomer's row behind it.

caught by: test_several_may_join_in_the_same_step
code: admitted_without_a_row
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        joined = None
        while (
            self.waiting
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
        ):
            joined = self.admit(now, self.waiting[0].max_num_tokens)
        if joined:
            rows.append(mb.Row(joined, joined.num_uncomputed_tokens))
        return mb.StepPlan(rows)
