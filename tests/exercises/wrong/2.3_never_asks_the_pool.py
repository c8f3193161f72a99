"""Admits without asking for blocks.

caught by: test_who_does_not_fit_into_the_pool_opens_the_next_batch
code: pool_never_asked
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                self.admit(now, self.waiting[0].max_num_tokens)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        return mb.StepPlan(rows)
