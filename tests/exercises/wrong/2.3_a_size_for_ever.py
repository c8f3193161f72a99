"""Makes every batch as large as the first one was.

caught by: test_any_requests_give_the_batches_of_the_rule
code: remembers_the_batch_size
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    size = 0

    def plan(self, now):
        self.size = self.size or min(self.max_batch_size, len(self.waiting))
        if not self.running:
            while self.waiting and len(self.running) < self.size:
                if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                    break
                self.admit(now, self.waiting[0].max_num_tokens)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        return mb.StepPlan(rows)
