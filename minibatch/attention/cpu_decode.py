"""Attention for rows of one token, on a CPU: reads K and V in place, block by block.

Gathering a context of 1,000 tokens into a fresh tensor moves every byte three times; here each is
read once. numba compiles the loops on first use (a few seconds, then cached on disk).

Only long contexts are worth a second pool of threads beside PyTorch's. Both spin while they wait,
so when another program takes a core they hold each other up: 6 ms steps have been seen to take 300.
"""

import numba
import numpy as np
import torch

from .gather_sdpa import attend_row, gather_sdpa_attention
from .metadata import AttentionMetadata

MANY_TOKENS = 4_000  # in all rows' contexts: from here on, several threads


def cpu_attention(
    query: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    metadata: AttentionMetadata,
    scale: float,
) -> torch.Tensor:
    """Shapes and result as `reference_attention`, on the CPU: the best path for each row."""
    if query.dtype != torch.float32:
        return gather_sdpa_attention(query, key_cache, value_cache, metadata, scale)
    output = torch.empty(query.shape)
    for row, (start, end, _) in enumerate(metadata.rows):
        if end - start > 1:
            attend_row(row, query, key_cache, value_cache, metadata, scale, output)
    is_long = sum(seq_len for _, _, seq_len in metadata.rows) >= MANY_TOKENS
    torch_threads = torch.get_num_threads()
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS if is_long else 1)
    decode(
        query.contiguous().numpy(),
        key_cache.numpy(),
        value_cache.numpy(),
        metadata.query_start_loc.numpy(),
        metadata.seq_lens.numpy(),
        metadata.block_tables.numpy(),
        np.float32(scale),
        output.numpy(),
    )
    if torch.get_num_threads() != torch_threads:  # where both use OpenMP, numba's start sets it
        torch.set_num_threads(torch_threads)
    return output


@numba.njit(parallel=True, fastmath={"reassoc", "contract", "arcp", "nsz"}, cache=True)
def decode(query, key_cache, value_cache, query_start_loc, seq_lens, block_tables, scale, output):
    """The rows of one token; longer ones are passed over. query, output: [T, heads, head_dim].

    A task is one (row, KV head): its K and V are read once for all the query heads that share it.
    """
    _, heads, head_dim = query.shape
    block_size, kv_heads = key_cache.shape[1], key_cache.shape[2]
    group = heads // kv_heads
    for task in numba.prange(len(seq_lens) * kv_heads):
        row, kv_head = task // kv_heads, task % kv_heads
        token, seq_len = query_start_loc[row], seq_lens[row]
        if query_start_loc[row + 1] - token > 1:
            continue
        first_head = kv_head * group

        scores = np.empty((group, seq_len), dtype=np.float32)
        for start in range(0, seq_len, block_size):
            block = block_tables[row, start // block_size]
            for offset in range(min(block_size, seq_len - start)):
                key = key_cache[block, offset, kv_head]
                for g in range(group):
                    score = np.float32(0)
                    for d in range(head_dim):
                        score += query[token, first_head + g, d] * key[d]
                    scores[g, start + offset] = score * scale

        for g in range(group):
            highest = scores[g].max()
            total = np.float32(0)
            for t in range(seq_len):
                scores[g, t] = np.exp(scores[g, t] - highest)
                total += scores[g, t]
            for t in range(seq_len):
                scores[g, t] /= total

        result = np.zeros((group, head_dim), dtype=np.float32)
        for start in range(0, seq_len, block_size):
            block = block_tables[row, start // block_size]
            for offset in range(min(block_size, seq_len - start)):
                value = value_cache[block, offset, kv_head]
                for g in range(group):
                    weight = scores[g, start + offset]
                    for d in range(head_dim):
                        result[g, d] += weight * value[d]
        output[token, first_head : first_head + group] = result
