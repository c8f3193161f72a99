"""Waits inside of plan.

caught by: test_a_lone_request_waits_for_its_window_and_no_longer
code: plan_lets_time_pass
"""

import minibatch as mb


class MyDynamic(MyDynamic):  # noqa: F821
    def plan(self, now):
        if self.waiting and not self.running and len(self.waiting) < self.max_batch_size:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if now < deadline:
                self.clock.sleep(deadline - now)
        return mb.Static.plan(self, self.clock.now())
