"""Wakes every 20 ms to look, where one alarm would do."""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=min(deadline, now + 0.02))
        return mb.Static.plan(self, now)
