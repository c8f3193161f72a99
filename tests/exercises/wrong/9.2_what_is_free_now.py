"""Promises what others have been promised.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: promises_are_forgotten
"""


def may_begin(newcomer, running, num_blocks, block_size):
    held = sum(-(-n // block_size) for n, _ in running)
    return held + -(-newcomer[1] // block_size) <= num_blocks
