"""Wants one to be left.

caught by: test_alone_everybody_may_begin
says: Yours wants a block to be left over
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-most // block_size) for _, most in everyone) < num_blocks
