"""The window begins anew whenever it is asked.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: window_begins_anew
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = now + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
