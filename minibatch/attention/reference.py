"""Paged attention as it is defined, in torch. Every faster version is compared with this one."""

from collections.abc import Callable

import torch

from .metadata import AttentionMetadata

# query [T, heads, head_dim], key cache, value cache, metadata, scale -> [T, heads, head_dim]
AttentionFunction = Callable[
    [torch.Tensor, torch.Tensor, torch.Tensor, AttentionMetadata, float], torch.Tensor
]


def gather(cache: torch.Tensor, block_table: torch.Tensor, seq_len: int) -> torch.Tensor:
    """One sequence's K or V, in order, copied from its scattered blocks.

    cache: [blocks, block_size, kv_heads, head_dim]; block_table: int32 [blocks it holds or more].
    Returns [seq_len, kv_heads, head_dim].
    """
    num_blocks = -(-seq_len // cache.shape[1])
    return cache[block_table[:num_blocks]].flatten(0, 1)[:seq_len]


def reference_attention(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    metadata: AttentionMetadata,
    scale: float,
) -> torch.Tensor:
    """softmax(q k^T * scale) v over each row's own context; a token at position p sees 0 .. p.

    query: [T, heads, head_dim]; caches: [blocks, block_size, kv_heads, head_dim]; heads is a
    multiple of kv_heads. Returns [T, heads, head_dim], in query's dtype; computed in float32.
    """
    output = torch.empty_like(query)
    heads_per_kv_head = query.shape[1] // key_cache.shape[2]
    for row, (start, end, seq_len) in enumerate(metadata.rows):
        table = metadata.block_tables[row]
        key = gather(key_cache, table, seq_len).float().repeat_interleave(heads_per_kv_head, dim=1)
        value = (
            gather(value_cache, table, seq_len).float().repeat_interleave(heads_per_kv_head, dim=1)
        )
        scores = torch.einsum("qhd,khd->hqk", query[start:end].float(), key) * scale
        too_late = torch.arange(seq_len, device=query.device) > metadata.positions[start:end, None]
        weights = scores.masked_fill(too_late, float("-inf")).softmax(dim=-1)
        output[start:end] = torch.einsum("hqk,khd->qhd", weights, value).to(query.dtype)
    return output
