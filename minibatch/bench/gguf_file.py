"""Weights of this course as a GGUF file, which llama.cpp's server reads; nothing is rounded.

RoPE rotates pairs of a head's values: in transformers one of each half, in llama.cpp neighbours. So
the rows of W_Q and W_K have another order in the file. llama.cpp's pre-tokenizer "gpt-2" keeps the
digits of a number together, Wayfarer's does not; no merge joins two digits, so tokens are equal.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import torch
from safetensors.torch import load_file

NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_gguf(folder: Path, path: Path) -> None:
    """Write a Llama model's folder (float32, tied embeddings) to `path`.

    Raises KeyError for a weight that is none of a Llama's, ValueError if a merge joins digits.
    """
    from gguf import GGUFWriter

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    writer = GGUFWriter(path, "llama")
    writer.add_name(folder.name)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    _add_tokenizer(writer, folder, config)
    for name, weight in load_file(folder / "model.safetensors").items():
        if re.search(r"[qk]_proj", name):
            weight = neighbours(weight, config["head_dim"])
        writer.add_tensor(gguf_name(name), weight.float().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def gguf_name(name: str) -> str:
    """llama.cpp's name of a weight: model.layers.3.mlp.up_proj.weight is blk.3.ffn_up.weight."""
    name = name.removesuffix(".weight")
    if layer := re.fullmatch(r"model\.layers\.(\d+)\.(.+)", name):
        return f"blk.{layer[1]}.{NAMES[layer[2]]}.weight"
    return f"{NAMES[name]}.weight"


def neighbours(weight: torch.Tensor, head_dim: int) -> torch.Tensor:
    """W_Q or W_K, [heads * head_dim, hidden], with the two rows that are rotated together side by
    side: rows i and i + head_dim / 2 of a head become its rows 2i and 2i + 1."""
    halves = weight.reshape(-1, 2, head_dim // 2, weight.shape[1])
    return halves.transpose(1, 2).reshape(weight.shape).contiguous()


def _add_tokenizer(writer, folder: Path, config: dict) -> None:
    from gguf import TokenType

    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocab, merges = tokenizer["model"]["vocab"], tokenizer["model"]["merges"]
    if joined := [pair for pair in merges if re.search(r"\d\d", "".join(pair))]:
        raise ValueError(f"llama.cpp would split numbers otherwise: {joined[0]} is a merge")
    special = {token["id"] for token in tokenizer["added_tokens"]}
    tokens = sorted(vocab, key=vocab.get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [TokenType.CONTROL if i in special else TokenType.NORMAL for i in range(len(tokens))]
    )
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template((folder / "chat_template.jinja").read_text(encoding="utf-8"))
