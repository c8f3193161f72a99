"""Fills free slots of a batch that runs.

caught by: test_a_running_batch_goes_on_and_takes_no_one_in
code: joins_a_running_batch
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        ended = [s for s in self.running if s.is_finished]
        for s in ended:
            self.release(s)
        self.form_batch(now)
        return mb.StepPlan(self.padded_rows())
