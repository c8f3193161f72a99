"""Rounds up.

caught by: test_the_step_and_its_decodes_are_paid_first
code: tokens_rounded_up
"""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    left = limit_us - step_us - num_decodes * decode_us
    return -(-left // prompt_us) + num_decodes if left >= prompt_us else 0
