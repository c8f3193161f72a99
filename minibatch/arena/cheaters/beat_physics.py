"""Computes whole prompts in one step, whatever the machine can do."""

import minibatch as mb


def make_policy(max_batch_size, max_batch_tokens):
    return mb.Continuous(max_batch_size, 100 * max_batch_tokens)
