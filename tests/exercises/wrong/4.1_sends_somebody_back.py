"""Makes room for the head of the queue by sending the newest back.

caught by: test_a_request_that_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: runner_sent_back
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        for head in list(self.waiting):
            if len(self.running) >= self.max_batch_size:
                break
            if not self.can_grow(head, head.max_num_tokens) and self.running:
                self.preempt(self.running[-1])
            if not self.can_grow(head, head.max_num_tokens):
                break
            self.admit(now, head.max_num_tokens, head)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
