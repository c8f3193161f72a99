"""Pays for one decode.

caught by: test_a_prompt_alone_in_its_step
code: one_decode_paid
"""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    n = (limit_us - step_us - decode_us) // prompt_us
    return n + num_decodes if n > 0 else 0
