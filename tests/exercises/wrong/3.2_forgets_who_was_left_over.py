"""Keeps a deadline from `add`, and forgets who was left over when a full batch went.

caught by: test_each_batch_has_a_window_of_its_own
says: J found no slot
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    deadline = None

    def add(self, sequence):
        super().add(sequence)
        if self.deadline is None:
            self.deadline = sequence.arrival_time + self.max_wait

    def plan(self, now):
        if self.running or not self.waiting:
            return mb.Static.plan(self, now)
        if self.deadline is None and self.waiting:
            self.deadline = self.waiting[0].arrival_time + self.max_wait
        if len(self.waiting) < self.max_batch_size and now < self.deadline:
            return mb.StepPlan(wake_at=self.deadline)
        plan = mb.Static.plan(self, now)
        self.deadline = None
        return plan
