"""Exercises of lesson 03: dynamic batching.

The batch itself runs as in lesson 02; what you write here decides when it begins.

Change none of your arguments: they belong to the caller, who goes on using them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 3.1`.
"""

import minibatch as mb


# ---------------------------------------------------------------------------------------------
# Exercise 3.1: When is a batch ready
# 2 points, 10 minutes, difficulty 1 of 5
# lessons/03_dynamic_batching.ipynb, "When may a batch leave?"
#
# A batch is ready when it is full, or when its oldest request has waited long enough. Without any
# request it is not ready.
#
# Seconds are floats: the difference now - arrival can be a rounding error below max_wait at the
# very moment for which an alarm was set. Compare without a tolerance: a request that has waited a
# little less than max_wait goes on waiting.
#
# HINT Three questions, in this order: does a request wait? is the batch full? how long has the
#      oldest waited?
# HINT The oldest is arrival_times[0]. Its window ends at arrival_times[0] + max_wait, and at that
#      very moment it has waited long enough.
# HINT if not arrival_times: return False
#      return (full) or now >= (the end of the oldest's window)
# ---------------------------------------------------------------------------------------------
def is_ready(arrival_times: list[float], now: float, max_batch_size: int, max_wait: float) -> bool:
    """Whether a batch of the waiting requests should start now.

    arrival_times: of all waiting requests, in seconds, oldest first. max_wait: seconds.

    Example: is_ready([0.0, 0.5], now=1.0, max_batch_size=8, max_wait=2.0) is False;
    at now=2.0 it is True, and with max_batch_size=2 it is True as soon as both are there.
    """
    # BEGIN SOLUTION
    if not arrival_times:
        return False
    is_full = len(arrival_times) >= max_batch_size
    return is_full or now >= arrival_times[0] + max_wait
    # END SOLUTION


class MyDynamic(mb.Static):
    """Waits for more requests, up to max_wait seconds; then runs as a static batch."""

    def __init__(self, max_batch_size: int = 8, max_wait: float = 0.05) -> None:
        super().__init__(max_batch_size)
        self.max_wait = max_wait

    # -----------------------------------------------------------------------------------------
    # Exercise 3.2: Wait, or go
    # 4 points, 20 minutes, difficulty 3 of 5
    # lessons/03_dynamic_batching.ipynb, "Your turn"
    #
    # While a batch runs, or as soon as one is ready, return `super().plan(now)`, the plan of
    # Static. Otherwise return a plan without rows that says when the engine asks again:
    # `mb.StepPlan(wake_at=…)`, in seconds on the same clock as `now`. (The engine also asks when
    # another request arrives, and when no request waits: then Static's plan has no rows.)
    #
    # self.waiting holds the sequences that wait, oldest first; each has an arrival_time. A request
    # may be aborted while it waits: then it is no longer in the queue, and the next is the oldest.
    #
    # HINT A running batch must never wait: look at self.running first. Then the question is that of
    #      exercise 3.1, about self.waiting.
    # HINT When does the oldest's window end? At its arrival_time + self.max_wait, however many
    #      come after it. That is also the time to wake up.
    # HINT if self.waiting and not self.running:
    #          deadline = ...
    #          if (not full) and now < deadline:
    #              return mb.StepPlan(wake_at=deadline)
    #      return super().plan(now)
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """The rows of the next forward pass, or none, and when to ask again.

        Example: max_wait is 0.5 s; A came at 1.0 and B at 1.2, the batch holds eight. At 1.2 the
        answer is StepPlan(wake_at=1.5); at 1.5 both run.
        """
        # BEGIN SOLUTION
        if self.waiting and not self.running:
            deadline = self.waiting[0].arrival_time + self.max_wait
            if len(self.waiting) < self.max_batch_size and now < deadline:
                return mb.StepPlan(wake_at=deadline)
        return super().plan(now)
        # END SOLUTION
