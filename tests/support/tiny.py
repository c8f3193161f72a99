"""A random model that decides clearly: its weights are scaled up, so logits lie far apart."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import minibatch as mb

VOCAB_SIZE = 128


def make_tiny_llama(
    max_position_embeddings: int = 256,
    vocab_size: int = VOCAB_SIZE,
    seed: int = 0,
    hidden_size: int = 32,
) -> LlamaForCausalLM:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=max_position_embeddings,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=None,
    )
    hf = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for parameter in hf.parameters():
            if parameter.dim() > 1:
                parameter.mul_(6)
    return hf


def make_tiny_model(
    max_position_embeddings: int = 256, seed: int = 0, vocab_size: int = VOCAB_SIZE
) -> mb.Model:
    return mb.Model(make_tiny_llama(max_position_embeddings, vocab_size, seed))
