"""Finds it, and says nothing.

caught by: test_somebody_who_runs_gives_way
says: returns nothing (None)
"""


def whom_to_preempt(running):
    min(range(len(running)), key=lambda i: running[i][0])
