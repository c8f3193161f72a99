"""Sends the newest back, once, when the head of the queue does not fit.

caught by: test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: runner_sent_back
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        gave_way = False
        while self.waiting and len(self.running) < self.max_batch_size:
            head = self.waiting[0]
            if not self.can_grow(head, head.max_num_tokens) and self.running and not gave_way:
                gave_way = True
                self.preempt(self.running[-1])
                self.waiting.rotate(-1)
            if not self.can_grow(head, head.max_num_tokens):
                break
            self.admit(now, head.max_num_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
