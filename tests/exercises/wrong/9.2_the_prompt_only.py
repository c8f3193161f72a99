"""No word of the answer.

caught by: test_two_growing_requests_do_not_both_need_the_last_block
code: room_for_the_prompt_only
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-n // block_size) for n, _ in everyone) <= num_blocks
