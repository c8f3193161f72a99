"""Fills the batch up while it runs.

caught by: test_nobody_joins_before_the_batch_has_ended
code: joins_a_running_batch
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if True:
            while self.waiting and len(self.running) < self.max_batch_size:
                if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                    break
                self.admit(now, self.waiting[0].max_num_tokens)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        return mb.StepPlan(rows)
