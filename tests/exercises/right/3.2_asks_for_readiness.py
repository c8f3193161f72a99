"""Asks whether the batch is ready, in a method of its own, and forms it itself."""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            if not self.waiting:
                return mb.StepPlan()
            if not self.is_ready(now):
                return mb.StepPlan(wake_at=self.patience_ends())
            self.form_batch(now)
        return mb.StepPlan(self.padded_rows())

    def patience_ends(self):
        return min((s.arrival_time for s in self.waiting), default=0.0) + self.max_wait

    def is_ready(self, now):
        full = len(self.waiting) >= self.max_batch_size
        return bool(self.waiting) and (full or now >= self.patience_ends())
