"""Whoever fits joins the batch, past one who does not.

caught by: test_a_request_that_does_not_fit_into_the_pool_opens_the_next_batch
code: later_one_overtakes
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            for _ in range(len(self.waiting)):
                first = self.waiting[0]
                fits = self.can_grow(first, first.max_num_tokens)
                if fits and len(self.running) < self.max_batch_size:
                    self.admit(now, first.max_num_tokens)
                else:
                    self.waiting.rotate(-1)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        return mb.StepPlan(
            [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        )
