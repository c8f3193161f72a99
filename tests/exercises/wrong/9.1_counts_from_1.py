"""The first is number 1.

caught by: test_somebody_who_runs_gives_way
says: places go from 0, the first
"""


def whom_to_preempt(running):
    return 1 + min(range(len(running)), key=lambda i: running[i][0])
