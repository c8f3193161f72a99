"""Forgets to hand over to Static.

caught by: test_a_full_batch_leaves_at_once
code: start_has_no_rows
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.StepPlan()
