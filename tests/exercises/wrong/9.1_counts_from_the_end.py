"""A place counted from the end of the list, below 0.

caught by: test_a_running_request_is_preempted
code: place_is_negative
"""


def whom_to_preempt(running):
    n = len(running)
    return min(range(-n, 0), key=lambda i: running[i][0])
