"""Takes the request's arrival_time (asked, from the run's beginning, or None), not the sequence's.

caught by: test_a_full_batch_leaves_at_once
code: arrival_of_the_request
"""

import minibatch as mb


class MyDynamic(mb.Static):
    """Waits for company, up to max_wait seconds; then runs as a static batch."""

    def __init__(self, max_batch_size: int = 8, max_wait: float = 0.05) -> None:
        super().__init__(max_batch_size)
        self.max_wait = max_wait

    def plan(self, now):
        if self.waiting and not self.running:
            deadline = self.waiting[0].request.arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return super().plan(now)
