"""Leaves the decodes out.

caught by: test_decodes_are_paid_first
says: yours gives it the whole budget
"""


def num_chunks(num_prompt_tokens, num_decodes, max_batch_tokens):
    return -(-num_prompt_tokens // max_batch_tokens)
