"""Tries one token more, and one more."""


def largest_budget(limit_us, num_decodes, step_us, decode_us, prompt_us):
    n, took = 0, step_us + num_decodes * decode_us
    while took + prompt_us <= limit_us:
        n, took = n + 1, took + prompt_us
    return n + num_decodes if n else 0
