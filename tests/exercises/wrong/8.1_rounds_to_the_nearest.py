"""Rounds to the nearest.

caught by: test_a_prompt_without_company_has_the_whole_budget
says: rounds to the nearest
"""


def num_chunks(num_prompt_tokens, num_decodes, max_batch_tokens):
    return round(num_prompt_tokens / (max_batch_tokens - num_decodes))
