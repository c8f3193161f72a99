"""Divides by /.

caught by: test_a_prompt_alone_in_its_step
code: float_for_a_whole_number
"""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    left = limit_us - step_us - num_decodes * decode_us
    return left / prompt_us + num_decodes if left >= prompt_us else 0
