"""Never says no.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: lets_everybody_in
"""


def may_begin(newcomer, running, num_blocks, block_size):
    return True
