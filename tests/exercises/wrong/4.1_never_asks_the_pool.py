"""Admits without asking whether the blocks are there.

caught by: test_a_request_that_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: pool_never_asked
at most: 3.25 points
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        while self.waiting and len(self.running) < self.max_batch_size:
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
