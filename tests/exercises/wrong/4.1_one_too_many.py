"""<= where < belongs.

caught by: test_no_more_run_than_there_are_slots
code: one_too_many_run
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.waiting and len(self.running) <= self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)
