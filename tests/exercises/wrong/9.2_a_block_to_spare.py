"""Wants one to be left.

caught by: test_a_request_alone_is_always_admitted
code: wants_a_block_left_over
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-most // block_size) for _, most in everyone) < num_blocks
