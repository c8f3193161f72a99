"""Never takes a request that has one token left; fails where all have.

caught by: test_a_running_request_is_preempted
code: all_are_nearly_done
"""


def whom_to_preempt(running):
    can = [i for i, (_, _, left) in enumerate(running) if left > 1]
    return min(can, key=lambda i: running[i][0])
