"""Hands sequences to is_ready, which wants times.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: arrival_of_a_sequence
"""

import minibatch as mb


class MyDynamic(mb.Static):
    """Waits for company, up to max_wait seconds; then runs as a static batch."""

    def __init__(self, max_batch_size: int = 8, max_wait: float = 0.05) -> None:
        super().__init__(max_batch_size)
        self.max_wait = max_wait

    def plan(self, now):
        begins = is_ready(self.waiting, now, self.max_batch_size, self.max_wait)  # noqa: F821
        if self.waiting and not self.running and not begins:
            return mb.StepPlan(wake_at=self.waiting[0].arrival_time + self.max_wait)
        return super().plan(now)
