"""A small random model that decides clearly, for graders that want real tokens."""

from functools import cache

import torch
from tiny import make_tiny_model  # tests/support/tiny.py

import minibatch as mb


@cache
def tiny_model() -> mb.Model:
    """2 layers, 4 query heads on 2 KV heads, 128 words, context 256."""
    return make_tiny_model()


def alone(model: mb.Model, prompt: list[int], num_tokens: int) -> list[int]:
    """The greedy answer of transformers, the prompt by itself."""
    out = model.hf.generate(
        torch.tensor([prompt]),
        min_new_tokens=num_tokens,
        max_new_tokens=num_tokens,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    return out[0, len(prompt) :].tolist()
