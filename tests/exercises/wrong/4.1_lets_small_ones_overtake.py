"""Whoever fits goes first; the large one waits for ever.

caught by: test_a_request_that_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: later_one_overtakes
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        for _ in range(len(self.waiting)):
            if len(self.running) == self.max_batch_size:
                break
            if self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                self.admit(now, self.waiting[0].max_num_tokens)
            else:
                self.waiting.rotate(-1)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
