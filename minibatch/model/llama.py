"""The forward pass of a Llama over a flattened batch, for a small model on a CPU.

transformers computes a layer in some fifty operations on small tensors. At eight tokens a step,
starting them takes about as long as the matrix products. Here, everything between two products is
one loop: residual and norm, rotation, the gate. The weights are transformers', and so is every
module that has products or tables of its own: these are called, so their forward hooks run. Layers,
norms, attention and MLP are not called. While one of these has a hook (`is_watched`), transformers
computes the pass. `model.hf` is not changed, and `generate` does not use this file.

`fits` says for which models this is correct. For other models, and with attention other than our
CPU path, the runner calls `model.hf` itself.
"""

import numba
import numpy as np
import torch
from transformers import PreTrainedModel
from transformers.models.llama import modeling_llama as llama

from ..attention.exponential import exp
from .registration import ForwardContext

KINDS = {
    "self_attn": llama.LlamaAttention,
    "mlp": llama.LlamaMLP,
    "input_layernorm": llama.LlamaRMSNorm,
    "post_attention_layernorm": llama.LlamaRMSNorm,
}


def fits(hf: PreTrainedModel) -> bool:
    """Whether this is a Llama made of transformers' own classes only, in float32, on a CPU."""
    return (
        type(hf) is llama.LlamaForCausalLM
        and (hf.device.type, hf.dtype, hf.config.hidden_act) == ("cpu", torch.float32, "silu")
        and type(hf.model) is llama.LlamaModel
        and all(type(layer) is llama.LlamaDecoderLayer for layer in hf.model.layers)
        and all(
            type(getattr(layer, name)) is kind
            for layer in hf.model.layers
            for name, kind in KINDS.items()
        )
    )


def is_watched(hf: PreTrainedModel) -> bool:
    """Whether a module that `forward` does not call has a forward hook."""
    modules = [hf, hf.model, hf.model.norm, *hf.model.layers]
    modules += [getattr(layer, name) for layer in hf.model.layers for name in KINDS]
    return any(module._forward_hooks or module._forward_pre_hooks for module in modules)


def forward(
    hf: PreTrainedModel, input_ids: torch.Tensor, last_tokens: torch.Tensor, context: ForwardContext
) -> torch.Tensor:
    """What `hf(...)` computes. input_ids: int64 [T]; last_tokens: int64 [n], indices into them.

    Returns logits [n, vocabulary]. Every layer adds to hidden [T, width]. delta is the output of
    the part before; it is added when the next norm reads hidden anyway.
    """
    hidden = hf.get_input_embeddings()(input_ids[None])[0]
    positions = context.metadata.positions
    cos, sin = (table[0].numpy() for table in hf.model.rotary_emb(hidden, positions[None]))
    delta = torch.zeros_like(hidden)
    for layer in hf.model.layers:
        attention, mlp = layer.self_attn, layer.mlp

        normed = add_and_norm(layer.input_layernorm, hidden, delta)
        heads = len(hidden), -1, attention.head_dim
        query = attention.q_proj(normed).view(heads)
        key = attention.k_proj(normed).view(heads)
        value = attention.v_proj(normed).view(heads)
        rotate(query.numpy(), key.numpy(), cos, sin)
        attended = context.attend_tokens(attention.layer_idx, query, key, value, attention.scaling)
        delta = attention.o_proj(attended.reshape(len(hidden), -1))

        normed = add_and_norm(layer.post_attention_layernorm, hidden, delta)
        gate, up = mlp.gate_proj(normed), mlp.up_proj(normed)
        gate_by_silu(gate.numpy(), up.numpy())
        delta = mlp.down_proj(gate)
    return hf.get_output_embeddings()(add_and_norm(hf.model.norm, hidden, delta)[last_tokens])


def add_and_norm(
    norm: llama.LlamaRMSNorm, hidden: torch.Tensor, delta: torch.Tensor
) -> torch.Tensor:
    """hidden += delta, in place; returns norm(hidden). All [T, width]."""
    normed = torch.empty_like(hidden)
    weight = norm.weight.detach().numpy()
    epsilon = np.float32(norm.variance_epsilon)
    add_then_norm(hidden.numpy(), delta.numpy(), normed.numpy(), weight, epsilon)
    return normed


loop = numba.njit(fastmath={"reassoc", "contract", "arcp", "nsz"}, error_model="numpy", cache=True)


@loop
def add_then_norm(hidden, delta, normed, weight, epsilon):
    """hidden += delta; normed = weight * hidden / root of its mean square. All [T, width]."""
    num_tokens, width = hidden.shape
    for t in range(num_tokens):
        squares = np.float32(0)
        for d in range(width):
            hidden[t, d] += delta[t, d]
            squares += hidden[t, d] * hidden[t, d]
        scale = np.float32(1) / np.sqrt(squares / np.float32(width) + epsilon)
        for d in range(width):
            normed[t, d] = weight[d] * (hidden[t, d] * scale)


@loop
def rotate(query, key, cos, sin):
    """Rotary positions, in place: dimensions d and d + head_dim / 2 are a pair. (Su et al., 2021)

    query, key: [T, heads, head_dim]; cos, sin: [T, head_dim].
    """
    for heads in (query, key):
        num_tokens, num_heads, head_dim = heads.shape
        half = head_dim // 2
        for t in range(num_tokens):
            for h in range(num_heads):
                for d in range(half):
                    a, b = heads[t, h, d], heads[t, h, d + half]
                    heads[t, h, d] = a * cos[t, d] - b * sin[t, d]
                    heads[t, h, d + half] = b * cos[t, d + half] + a * sin[t, d + half]


@loop
def gate_by_silu(gate, up):
    """gate = silu(gate) * up, in place; silu(x) = x / (1 + e^-x). Both [T, width]."""
    num_tokens, width = gate.shape
    for t in range(num_tokens):
        for d in range(width):
            gate[t, d] = gate[t, d] / (np.float32(1) + exp(-gate[t, d])) * up[t, d]
