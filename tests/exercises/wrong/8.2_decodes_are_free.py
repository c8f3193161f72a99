"""Has no decode paid.

caught by: test_the_step_and_its_decodes_are_paid_first
code: decodes_not_paid
"""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    n = (limit_us - step_us) // prompt_us
    return n + num_decodes if n > 0 else 0
