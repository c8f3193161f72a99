"""Returns whom, not where.

caught by: test_somebody_who_runs_gives_way
says: its place in the list is asked for
"""


def whom_to_preempt(running):
    return min(running)
