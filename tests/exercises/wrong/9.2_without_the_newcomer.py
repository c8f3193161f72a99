"""Looks at those who run.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: newcomer_is_forgotten
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-most // block_size) for _, most in everyone[:-1]) <= num_blocks
