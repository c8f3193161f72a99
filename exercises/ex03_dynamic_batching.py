"""Exercises of lesson 03: dynamic batching.

The batch itself runs as in lesson 02; you decide here when the batch starts.

Change none of your arguments: the caller still uses them.

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 3.1`.
"""

import minibatch as mb


# ---------------------------------------------------------------------------------------------
# Exercise 3.1: When is a batch ready
# 2 points, 10 minutes, difficulty 1 of 5
# lessons/03_dynamic_batching.ipynb, "Your turn: the rule"
#
# A batch is ready when it is full, or when its oldest request has waited `max_wait` seconds or
# more. A batch without requests is not ready.
#
# Seconds are floats. At `now = arrival + max_wait`, the difference `now - arrival` can be slightly
# smaller than `max_wait`. So compare `now` with `arrival + max_wait`, and add no tolerance: a
# microsecond before that time, the batch is not ready.
# ---------------------------------------------------------------------------------------------
def is_ready(arrival_times: list[float], now: float, max_batch_size: int, max_wait: float) -> bool:
    """Whether a batch of the waiting requests should start now.

    `arrival_times`: the arrival time of each waiting request, in seconds, oldest first.
    `max_wait`: seconds.

    Example: `is_ready([0.0, 0.5], now=1.0, max_batch_size=8, max_wait=2.0)` is `False`; at
    `now=2.0` it is `True`. With `max_batch_size=2` it is `True` as soon as both requests are there.
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
    # While a batch runs, or as soon as a batch is ready, return `super().plan(now)`, the plan of
    # `Static`. Return this plan also when no request waits.
    #
    # If requests wait and the batch is not ready, return a plan without rows that says when the
    # engine calls `plan` again: `mb.StepPlan(wake_at=…)`, in seconds on the same clock as `now`.
    # The engine also calls `plan` whenever another request arrives.
    #
    # `self.waiting` holds the sequences that wait, oldest first; each has an `arrival_time`. A
    # waiting request can be aborted. Then it is no longer in `self.waiting`, so another request may
    # be the oldest.
    # -----------------------------------------------------------------------------------------
    def plan(self, now: float) -> mb.StepPlan:
        """Returns the rows of the next forward pass, or no rows and the time of the next call.

        Example: `max_wait` is 0.5 s; A arrived at 1.0 s and B at 1.2 s, and there are eight slots.
        At 1.2 s the plan is `StepPlan(wake_at=1.5)`; at 1.5 s both requests run.
        """
        # YOUR CODE for Exercise 3.2 begins here
        raise NotImplementedError("Exercise 3.2: Wait, or go: not written yet")
        # YOUR CODE for Exercise 3.2 ends here
