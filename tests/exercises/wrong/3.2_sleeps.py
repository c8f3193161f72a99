"""Sleeps in plan, then goes on.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: starts_without_its_window
"""

import time

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
                time.sleep(deadline - now)
        return super().plan(now)
