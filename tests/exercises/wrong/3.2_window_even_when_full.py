"""Waits out the window though the batch is full.

caught by: test_a_full_batch_leaves_at_once
code: four_do_not_fill_three_slots
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return mb.Static.plan(self, now)
