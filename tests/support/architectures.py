"""Tiny random models of many architectures, with weights scaled up until they decide clearly."""

from __future__ import annotations

import torch
import transformers
from transformers import PreTrainedModel

VOCAB_SIZE = 96
CONTEXT = 64

COMMON = {
    "vocab_size": VOCAB_SIZE,
    "hidden_size": 32,
    "num_attention_heads": 4,
    "max_position_embeddings": CONTEXT,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": None,
}


CLASSES = {"GPT2": "GPT2LMHeadModel"}  # where it is not {name}ForCausalLM


def build(name: str, *, seed: int = 0, scale: float = 12.0, **changes: object) -> PreTrainedModel:
    """A random causal LM of 2 layers; `changes` go to its configuration.

    scale: what every matrix is multiplied by, so that logit gaps are wide and attention matters.
    """
    sizes = {"num_hidden_layers": 2}
    if name not in ("GPT2", "OPT"):  # these call it otherwise, and default to 4 * hidden_size
        sizes["intermediate_size"] = 64
    config = getattr(transformers, f"{name}Config")(**(COMMON | sizes | changes))
    torch.manual_seed(seed)
    model = getattr(transformers, CLASSES.get(name, f"{name}ForCausalLM"))(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(scale)
            else:  # norms and biases, all ones and zeros so far
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


# What must be served, token for token. Each entry: (class name, what `build` is given besides).
# Seeds are those with which no two best logits come near each other in tests/model/test_models.py.
SERVED: dict[str, tuple[str, dict[str, object]]] = {
    "llama gqa tied": ("Llama", {"num_key_value_heads": 2, "tie_word_embeddings": True, "seed": 1}),
    "llama mha untied 3 layers": ("Llama", {"num_hidden_layers": 3, "seed": 1}),
    "llama mqa": ("Llama", {"num_key_value_heads": 1}),
    "llama with stretched rope": (
        "Llama",
        {
            "num_key_value_heads": 2,
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 10000.0,
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            },
        },
    ),
    "qwen2 gqa tied": ("Qwen2", {"num_key_value_heads": 2, "tie_word_embeddings": True}),
    "qwen2 mha untied": ("Qwen2", {"num_key_value_heads": 4, "tie_word_embeddings": False}),
    "qwen3 gqa wide heads": ("Qwen3", {"num_key_value_heads": 2, "head_dim": 16}),
    "mistral gqa": ("Mistral", {"num_key_value_heads": 2, "sliding_window": None}),
    "mistral window of the context": ("Mistral", {"num_key_value_heads": 1, "sliding_window": 64}),
    "olmo2 mha": ("Olmo2", {"seed": 1}),
    "phi3 gqa": ("Phi3", {"num_key_value_heads": 2}),
    "granite gqa tied": (
        "Granite",
        {
            "num_key_value_heads": 2,
            "tie_word_embeddings": True,
            "attention_multiplier": 0.2,
            "embedding_multiplier": 3.0,
            "residual_multiplier": 0.7,
            "logits_scaling": 2.0,
        },
    ),
    "smollm3 every second layer without rope": (
        "SmolLM3",
        {"num_key_value_heads": 2, "no_rope_layer_interval": 2, "num_hidden_layers": 3},
    ),
    "gpt-neox parallel": ("GPTNeoX", {}),
    "gpt-neox serial tied": (
        "GPTNeoX",
        {"use_parallel_residual": False, "tie_word_embeddings": True},
    ),
    "gpt2 tied": ("GPT2", {}),
    "gpt2 untied scaled by layer": (
        "GPT2",
        {"tie_word_embeddings": False, "scale_attn_by_inverse_layer_idx": True},
    ),
    "opt tied": ("OPT", {"ffn_dim": 64, "word_embed_proj_dim": 32, "pad_token_id": 1}),
    "opt untied narrow embeddings norm after": (
        "OPT",
        {
            "ffn_dim": 64,
            "word_embed_proj_dim": 16,
            "do_layer_norm_before": False,
            "seed": 1,
            "tie_word_embeddings": False,
            "pad_token_id": 1,
        },
    ),
    "gemma mqa": ("Gemma", {"num_key_value_heads": 1, "head_dim": 16}),
    "mixtral": (
        "Mixtral",
        {"num_key_value_heads": 2, "num_local_experts": 4, "sliding_window": None},
    ),
    "starcoder2": ("Starcoder2", {"num_key_value_heads": 2, "sliding_window": None}),
}


def served(case: str, **changes: object) -> PreTrainedModel:
    name, own = SERVED[case]
    return build(name, **(own | changes))
