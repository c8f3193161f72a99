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
    """One row of the batch, written to its place in `output` [T, heads, head_dim].

    Its regions, each by what a token may see:  | new tokens: up to themselves | padding: all |
    """
    start, end, seq_len = metadata.rows[row]
    num_computed = metadata.num_computed_tokens[row]
    padding = start + seq_len - num_computed  # where it begins; it repeats the last token
    key, value = (
        gather(cache, metadata.block_tables[row], seq_len).transpose(0, 1)[None]
        for cache in (key_cache, value_cache)
    )

    def attend(start: int, end: int, mask: torch.Tensor | None, is_causal: bool) -> None:
        output[start:end] = scaled_dot_product_attention(
            query[start:end].transpose(0, 1)[None],
            key,
            value,
            attn_mask=mask,
            is_causal=is_causal,
            scale=scale,
            enable_gqa=query.shape[1] != key_cache.shape[2],
        )[0].transpose(0, 1)

    if start < padding:
        # A whole prompt needs no mask, and SDPA then skips the half that nobody sees.
        whole_prompt, mask = num_computed == 0 and seq_len > 1, None
        if not whole_prompt and padding - start > 1:
            places = metadata.positions[start:padding, None]
            mask = torch.arange(seq_len, device=query.device) <= places
        attend(start, padding, mask, whole_prompt)
    if padding < end:
        attend(padding, end, None, False)
