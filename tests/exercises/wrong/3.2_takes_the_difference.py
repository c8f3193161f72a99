"""Compares a difference of floats: at the deadline it waits still, for a rounding error.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: window_by_a_difference
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if (
                len(self.waiting) < self.max_batch_size
                and now - self.waiting[0].arrival_time < self.max_wait
            ):
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
