"""No word of the answer.

caught by: test_two_who_grow_together_do_not_meet_at_the_last_block
code: room_for_the_prompt_only
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-n // block_size) for n, _ in everyone) <= num_blocks
