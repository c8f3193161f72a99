"""Starts the window when it is asked, and again each time it is asked.

caught by: test_the_oldest_decides_when_it_leaves
code: arrival_begins_the_window_anew
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running:
            if len(self.waiting) != getattr(self, "seen", 0):
                self.seen, self.until = len(self.waiting), now + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < self.until:
                return mb.StepPlan(wake_at=self.until)
        return mb.Static.plan(self, now)
