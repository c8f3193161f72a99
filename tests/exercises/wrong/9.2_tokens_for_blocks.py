"""Takes tokens for blocks.

caught by: test_alone_everybody_may_begin
says: Yours counts tokens; a block holds block_size of them
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(most for _, most in everyone) <= num_blocks
