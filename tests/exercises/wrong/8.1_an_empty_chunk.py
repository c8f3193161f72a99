"""Adds one always.

caught by: test_a_prompt_without_company_has_the_whole_budget
says: yours adds one
"""


def num_chunks(num_prompt_tokens, num_decodes, max_batch_tokens):
    return num_prompt_tokens // (max_batch_tokens - num_decodes) + 1
