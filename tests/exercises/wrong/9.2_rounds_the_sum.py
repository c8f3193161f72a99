"""Tokens of all in one heap, and then in blocks.

caught by: test_in_a_thousand_pools_nobody_waits_for_ever
says: pools somebody waits for ever
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    for t in range(max(most - n for n, most in everyone) + 1):
        tokens = sum(n + t for n, most in everyone if n + t <= most)
        if -(-tokens // block_size) > num_blocks:
            return False
    return True
