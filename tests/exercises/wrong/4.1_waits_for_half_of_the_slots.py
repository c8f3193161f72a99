"""Admits only when half of the slots are free.

caught by: test_a_free_slot_never_waits_for_the_others
code: slots_stand_empty
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        if self.max_batch_size - len(self.running) < self.max_batch_size // 2:
            return mb.StepPlan(rows)
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)
