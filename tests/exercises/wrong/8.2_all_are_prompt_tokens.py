"""Takes decodes for prompt tokens.

caught by: test_the_step_and_its_decodes_are_paid_first
code: all_divided_by_prompt_time
"""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    return max(0, (limit_us - step_us) // prompt_us)
