"""Grows everyone by the longest answer, in every step.

caught by: test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: grows_beyond_its_need
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        for s in self.running:
            self.grow(s, s.max_num_tokens)
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)
