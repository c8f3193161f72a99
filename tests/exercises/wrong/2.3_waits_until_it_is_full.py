"""Starts only with a full batch: the last ones wait for ever.

caught by: test_no_request_joins_before_the_batch_has_ended
code: waits_for_a_full_batch
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running and len(self.waiting) >= self.max_batch_size:
            for _ in range(self.max_batch_size):
                self.admit(now, self.waiting[0].max_num_tokens)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        return mb.StepPlan(rows)
