"""Rounds up with math."""


def num_chunks(num_prompt_tokens, num_decodes, max_batch_tokens):
    import math

    return math.ceil(num_prompt_tokens / (max_batch_tokens - num_decodes))
