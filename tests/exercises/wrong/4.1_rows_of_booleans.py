"""Counts tokens in True and False.

caught by: test_several_may_join_in_the_same_step
code: tokens_are_no_int
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens > 0) for s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)
