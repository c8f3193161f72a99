"""Takes tokens for blocks.

caught by: test_alone_everybody_may_begin
code: tokens_not_blocks
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(most for _, most in everyone) <= num_blocks
