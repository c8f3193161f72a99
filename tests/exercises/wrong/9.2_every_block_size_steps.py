"""Looks at every block_size-th step only.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: grows_from_a_border
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    for t in range(0, max(m - n for n, m in everyone) + 1, block_size):
        need = sum(-(-(n + t) // block_size) for n, m in everyone if n + t <= m)
        if need > num_blocks:
            return False
    return True
