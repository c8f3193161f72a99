"""Stops at the first that does not fit, with a break."""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            self.admit(now, n)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
