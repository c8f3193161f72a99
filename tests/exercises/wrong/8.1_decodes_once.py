"""Pays the decodes once.

caught by: test_decodes_are_paid_first
says: yours adds them to the prompt
"""


def num_chunks(num_prompt_tokens, num_decodes, max_batch_tokens):
    return -(-(num_prompt_tokens + num_decodes) // max_batch_tokens)
