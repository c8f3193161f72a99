"""Counts the prompt twice.

caught by: test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: prompt_counted_twice
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        while self.waiting and len(self.running) < self.max_batch_size:
            most = self.waiting[0].max_num_tokens + self.waiting[0].num_prompt_tokens
            if not self.can_grow(self.waiting[0], most):
                break
            self.admit(now, most)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
