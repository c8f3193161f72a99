"""Takes a window of 0 s for no window, as `if self.max_wait` does.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: start_has_no_rows
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running and len(self.waiting) < self.max_batch_size:
            deadline = self.max_wait and self.waiting[0].arrival_time + self.max_wait
            if not deadline:
                return mb.StepPlan()
            if now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
