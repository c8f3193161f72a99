"""Takes tokens for blocks.

caught by: test_a_request_alone_is_always_admitted
code: tokens_not_blocks
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(most for _, most in everyone) <= num_blocks
