"""Forgets that decodes count.

caught by: test_the_step_and_its_decodes_are_paid_first
code: decodes_not_added
"""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    return max(0, (limit_us - step_us - num_decodes * decode_us) // prompt_us)
