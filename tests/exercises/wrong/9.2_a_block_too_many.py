"""Rounds up what is whole.

caught by: test_a_request_alone_is_always_admitted
code: one_block_more_when_full
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(most // block_size + 1 for _, most in everyone) <= num_blocks
