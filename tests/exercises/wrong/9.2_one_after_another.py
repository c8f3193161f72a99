"""The banker's rule, asked at the door only.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: others_stand_still
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = sorted(
        [*running, newcomer],
        key=lambda one: -(-one[1] // block_size) - -(-one[0] // block_size),
    )
    free = num_blocks - sum(-(-n // block_size) for n, _ in everyone)
    for n, most in everyone:
        if -(-most // block_size) - -(-n // block_size) > free:
            return False
        free += -(-n // block_size)
    return free >= 0
