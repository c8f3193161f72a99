"""Keeps the first batch's deadline.

caught by: test_each_batch_has_a_window_of_its_own
code: later_batch_at_another_time
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            if not hasattr(self, "d"):
                self.d = self.waiting[0].arrival_time + self.max_wait
            deadline = self.d
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
