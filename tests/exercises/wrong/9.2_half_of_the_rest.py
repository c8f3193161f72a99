"""Most answers are short.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: waits_for_ever
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    likely = [n + (most - n) // 2 for n, most in everyone]
    return sum(-(-n // block_size) for n in likely) <= num_blocks
