"""Half a block is none.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: blocks_rounded_down
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(most // block_size for _, most in everyone) <= num_blocks
