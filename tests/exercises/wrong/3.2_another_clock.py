"""Asks the computer for the time.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: reads_another_clock
"""

import time

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and time.monotonic() < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
