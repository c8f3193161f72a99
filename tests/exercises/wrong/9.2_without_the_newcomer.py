"""Looks at those who run.

caught by: test_two_who_grow_together_do_not_meet_at_the_last_block
code: newcomer_is_forgotten
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-most // block_size) for _, most in everyone[:-1]) <= num_blocks
