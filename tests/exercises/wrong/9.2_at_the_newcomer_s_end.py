"""Looks at two moments, now and when the newcomer ends.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: waits_for_ever
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    for t in (0, newcomer[1] - newcomer[0]):
        alive = [n + t for n, most in everyone if n + t <= most]
        if sum(-(-n // block_size) for n in alive) > num_blocks:
            return False
    return True
