"""Adds the newcomer to the caller's list.

caught by: test_a_request_alone_is_always_admitted
code: changes_the_callers_list
"""


def may_begin(newcomer, running, num_blocks, block_size):
    running.append(newcomer)
    by_end = sorted(running, key=lambda r: r[1] - r[0])
    # blocks only grow between two departures: the peaks are the last steps
    for k, (n, m) in enumerate(by_end):
        t = m - n
        if sum(1 + (a + t - 1) // block_size for a, b in by_end[k:]) > num_blocks:
            return False
    return True
