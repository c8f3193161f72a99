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
# ---------------------------------------------------------------------------------------------
def is_ready(arrival_times: list[float], now: float, max_batch_size: int, max_wait: float) -> bool:
    """Whether a batch of the waiting requests should start now.

    arrival_times: of all waiting requests, in seconds, oldest first. max_wait: seconds.

    Example: is_ready([0.0, 0.5], now=1.0, max_batch_size=8, max_wait=2.0) is False;
    at now=2.0 it is True, and with max_batch_size=2 it is True as soon as both are there.
    """
    # YOUR CODE for Exercise 3.1 begins here
    raise NotImplementedError("Exercise 3.1: When is a batch ready: not written yet")
    # YOUR CODE for Exercise 3.1 ends here


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
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """The rows of the next forward pass, or none, and when to ask again.

        Example: max_wait is 0.5 s; A came at 1.0 and B at 1.2, the batch holds eight. At 1.2 the
        answer is StepPlan(wake_at=1.5); at 1.5 both run.
        """
        # YOUR CODE for Exercise 3.2 begins here
        raise NotImplementedError("Exercise 3.2: Wait, or go: not written yet")
        # YOUR CODE for Exercise 3.2 ends here
