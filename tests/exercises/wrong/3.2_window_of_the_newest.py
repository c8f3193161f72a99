"""Counts from the last arrival.

caught by: test_the_oldest_decides_when_it_leaves
code: arrival_begins_the_window_anew
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[-1].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
