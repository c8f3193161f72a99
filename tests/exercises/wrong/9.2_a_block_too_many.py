"""Rounds up what is whole.

caught by: test_alone_everybody_may_begin
says: -(-tokens // block_size) rounds up
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(most // block_size + 1 for _, most in everyone) <= num_blocks
