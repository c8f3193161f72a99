"""Notes the deadline when the first one comes, in `add`, and moves it on when the batch starts, or
when somebody is given up."""

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
        if len(self.waiting) < self.max_batch_size and now < self.deadline:
            return mb.StepPlan(wake_at=self.deadline)
        plan = mb.Static.plan(self, now)
        self.move_on()
        return plan

    def abort(self, sequence):
        super().abort(sequence)
        self.move_on()

    def move_on(self):
        left = self.waiting
        self.deadline = left[0].arrival_time + self.max_wait if left else None
