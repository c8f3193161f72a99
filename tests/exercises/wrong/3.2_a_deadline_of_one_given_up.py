"""Keeps the deadline of whoever came first, also once that one has been given up.

caught by: test_the_deadline_of_an_aborted_request_is_forgotten
code: deadline_of_one_given_up
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    deadline = None

    def plan(self, now):
        if self.running or not self.waiting:
            return mb.Static.plan(self, now)
        if self.deadline is None:
            self.deadline = self.waiting[0].arrival_time + self.max_wait
        if len(self.waiting) < self.max_batch_size and now < self.deadline:
            return mb.StepPlan(wake_at=self.deadline)
        self.deadline = None
        return mb.Static.plan(self, now)
