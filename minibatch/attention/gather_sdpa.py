"""Attention for rows of many tokens: gather each row's context, then torch's own fused kernel.

Copying the context is cheap compared with the matrix products of a long row. For a row of one token
it is most of the work, so decoding uses `cpu_decode` instead.
"""

import torch
from torch.nn.functional import scaled_dot_product_attention

from .metadata import AttentionMetadata
from .reference import gather

PIECE = 192  # new tokens that attend together after a cached context; SDPA is slower with fewer


def gather_sdpa_attention(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    metadata: AttentionMetadata,
    scale: float,
) -> torch.Tensor:
    """Shapes and result as `reference_attention`; any device and dtype that SDPA supports."""
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
    """Compute one row of the batch, and write it to its place in `output` [T, heads, head_dim].

    A row's regions, and what a token of each sees:  | new tokens: up to itself | padding: all |
    """
    start, end, seq_len = metadata.rows[row]
    num_computed = metadata.num_computed_tokens[row]
    padding = start + seq_len - num_computed  # its first index; padding repeats the last token
    key, value = (
        gather(cache, metadata.block_tables[row], seq_len).transpose(0, 1)[None]
        for cache in (key_cache, value_cache)
    )

    def attend(
        start: int, end: int, num_keys: int, mask: torch.Tensor | None, is_causal: bool
    ) -> None:
        output[start:end] = scaled_dot_product_attention(
            query[start:end].transpose(0, 1)[None],
            key[:, :, :num_keys],
            value[:, :, :num_keys],
            attn_mask=mask,
            is_causal=is_causal,
            scale=scale,
            enable_gqa=query.shape[1] != key_cache.shape[2],
        )[0].transpose(0, 1)

    if num_computed == 0 and seq_len > 1:
        # A whole prompt does not need a mask, and SDPA then skips the half that no token sees.
        attend(start, padding, seq_len, None, True)
    else:
        for first in range(start, padding, PIECE):  # a piece sees no key after its last token
            last = min(first + PIECE, padding)
            num_keys, mask = num_computed + last - start, None
            if last - first > 1:
                keys = torch.arange(num_keys, device=query.device)
                mask = keys <= metadata.positions[first:last, None]
            attend(first, last, num_keys, mask, False)
    if padding < end:
        attend(padding, end, seq_len, None, False)
