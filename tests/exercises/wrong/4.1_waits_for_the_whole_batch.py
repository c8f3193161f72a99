"""Admits only when nobody runs any more: static batching.

caught by: test_several_may_join_in_the_same_step
code: waits_for_the_whole_batch
at most: 2 points
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
