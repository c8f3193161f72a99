"""FCFS, as a submission."""

import minibatch as mb


def make_policy(max_batch_size, max_batch_tokens):
    return mb.Continuous(max_batch_size, max_batch_tokens)
