"""GUARANTEED_NO_EVICT: safe, and slow.

caught by: test_a_request_that_has_left_by_then_needs_no_room
code: keeps_the_maximum
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-most // block_size) for _, most in everyone) <= num_blocks
