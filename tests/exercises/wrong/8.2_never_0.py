"""Answers with the decodes where no prompt token fits.

caught by: test_where_no_prompt_token_fits_no_budget_holds
code: less_than_zero_fit
"""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    return max(0, (limit_us - step_us - num_decodes * decode_us) // prompt_us) + num_decodes
