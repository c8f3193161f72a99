"""Never says no.

caught by: test_two_who_grow_together_do_not_meet_at_the_last_block
code: lets_everybody_in
"""


def may_begin(newcomer, running, num_blocks, block_size):
    return True
