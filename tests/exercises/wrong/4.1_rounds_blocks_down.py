"""Counts the blocks itself, and rounds down.

caught by: test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: asks_rounded_down
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if n // self.pool.block_size > self.pool.num_free:
                break
            s = self.admit(now, n)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)
