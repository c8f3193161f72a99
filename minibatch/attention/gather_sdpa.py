"""Attention for rows of many tokens: gather each row's context, then torch's own fused kernel.

Copying the context is cheap beside the matrix products of a long row; for a row of one token it is
most of the work, so decoding goes through `cpu_decode` instead.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention

from .metadata import AttentionMetadata
from .reference import gather


def gather_sdpa_attention(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    metadata: AttentionMetadata,
    scale: float,
) -> torch.Tensor:
    """Shapes and result as `reference_attention`; any device and dtype that SDPA takes."""
    output = torch.empty_like(query)
    for row in range(len(metadata.rows)):
        attend_row(row, query, key_cache, value_cache, metadata, scale, output)
    return output


def attend_row(
    row: int,
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    metadata: AttentionMetadata,
    scale: float,
    output: torch.Tensor,
) -> None:
    """One row of the batch, written to its place in `output` [T, heads, head_dim]."""
    start, end, seq_len = metadata.rows[row]
    # A whole prompt without padding is plain causal attention; one token sees its whole context.
    whole_prompt = metadata.num_computed_tokens[row] == 0 and end - start == seq_len
    mask = None
    if not whole_prompt and end - start > 1:
        mask = torch.arange(seq_len, device=query.device) <= metadata.positions[start:end, None]
    output[start:end] = scaled_dot_product_attention(
        query[start:end].transpose(0, 1)[None],
        gather(key_cache, metadata.block_tables[row], seq_len).transpose(0, 1)[None],
        gather(value_cache, metadata.block_tables[row], seq_len).transpose(0, 1)[None],
        attn_mask=mask,
        is_causal=whole_prompt and seq_len > 1,
        scale=scale,
        enable_gqa=query.shape[1] != key_cache.shape[2],
    )[0].transpose(0, 1)
