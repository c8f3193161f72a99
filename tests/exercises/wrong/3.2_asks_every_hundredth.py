"""Polls: asks to be woken every 10 ms instead of at the deadline.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: asks_again_and_comes_late
"""

import minibatch as mb


class MyDynamic(mb.Static):
    """Waits for company, up to max_wait seconds; then runs as a static batch."""

    def __init__(self, max_batch_size: int = 8, max_wait: float = 0.05) -> None:
        super().__init__(max_batch_size)
        self.max_wait = max_wait

    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=now + 0.01)
        return super().plan(now)
