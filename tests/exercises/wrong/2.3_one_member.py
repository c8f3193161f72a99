"""Admits one and goes.

caught by: test_a_batch_takes_waiting_requests_up_to_its_size
code: only_one_joined
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running and self.waiting:
            self.admit(now, self.waiting[0].max_num_tokens)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        return mb.StepPlan(rows)
