"""Counts the steps."""


def num_chunks(num_prompt_tokens, num_decodes, max_batch_tokens):
    steps = 0
    while num_prompt_tokens > 0:
        num_prompt_tokens -= max_batch_tokens - num_decodes
        steps += 1
    return steps
