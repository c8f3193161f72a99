"""Knows that the oldest decides, and sets the alarm for the newest.

caught by: test_the_oldest_decides_when_it_leaves
code: arrival_moves_wake_at
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=self.waiting[-1].arrival_time + self.max_wait)
        return mb.Static.plan(self, now)
