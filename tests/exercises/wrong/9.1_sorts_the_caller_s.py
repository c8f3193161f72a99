"""Puts the caller's list in order.

caught by: test_somebody_who_runs_gives_way
says: this list is the caller's
"""


def whom_to_preempt(running):
    running.sort()
    return 0
