"""An `if` where a loop belongs.

caught by: test_several_may_join_in_the_same_step
code: one_joins_a_step
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        if self.waiting and len(self.running) < self.max_batch_size:
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
