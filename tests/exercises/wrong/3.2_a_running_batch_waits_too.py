"""Makes those who run wait for those who come.

caught by: test_a_running_batch_goes_on_and_takes_no_one_in
code: running_batch_waits
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
