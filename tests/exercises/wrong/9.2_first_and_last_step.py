"""Looks at the newcomer's first step and its last one, at no step between.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: looks_at_two_steps
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    for t in (0, newcomer[1] - newcomer[0]):
        need = sum(-(-(n + t) // block_size) for n, m in everyone if n + t <= m)
        if need > num_blocks:
            return False
    return True
