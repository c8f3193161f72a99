"""Attention for rows of one token, or a few, on a CPU: reads K and V in place, block by block.

Copying a context of 1,000 tokens into a new tensor moves every byte three times. Here each byte is
read once, in the order of memory. numba compiles the loops on first use (a few seconds, then cached
on disk).
"""

import numba
import numpy as np
import torch

from .cpu_threads import num_threads, share
from .exponential import exp
from .gather_sdpa import attend_row, gather_sdpa_attention
from .metadata import AttentionMetadata

FEW_TOKENS = 6  # of a row: up to here, reading the context once per token is faster than copying it
MANY_KEYS = 4_000  # of all tokens together: from here on, several threads may be faster than one


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
    tokens, num_keys = [], 0
    for row, (start, end, seq_len) in enumerate(metadata.rows):
        if end - start > FEW_TOKENS:
            attend_row(row, query, key_cache, value_cache, metadata, scale, output)
        else:
            tokens += range(start, end)
            num_keys += (end - start) * seq_len
    tensors = query.contiguous(), key_cache, value_cache
    places = metadata.token_rows, metadata.positions, metadata.block_tables
    arrays = [tensor.numpy() for tensor in (*tensors, *places, output)]
    tokens, scale = np.array(tokens, dtype=np.int64), np.float32(scale)
    if num_keys < MANY_KEYS or num_threads() < 4:
        decode(tokens, scale, *arrays)
    else:
        share(lambda i: decode(tokens[i : i + 1], scale, *arrays), len(tokens))
    return output


cpu_attention.is_compiled = True  # so the runner may use llama.py, which numba compiles, too


@numba.njit(
    fastmath={"reassoc", "contract", "arcp", "nsz"}, error_model="numpy", nogil=True, cache=True
)
def decode(tokens, scale, query, key_cache, value_cache, token_rows, positions, tables, output):
    """Attention of the given tokens, int64 [n]. query, output: [T, heads, head_dim].

    K of a token holds all its KV heads side by side. So the loop over heads is inside the loop over
    the context: memory is read without gaps. One head after the other, with gaps, took twice as
    long when the contexts did not fit into the processor's cache.
    """
    _, heads, head_dim = query.shape
    block_size, kv_heads = key_cache.shape[1], key_cache.shape[2]
    group = heads // kv_heads  # query heads that share a KV head
    for token in tokens:
        table, num_keys = tables[token_rows[token]], positions[token] + 1

        scores = np.empty((heads, num_keys), dtype=np.float32)
        for start in range(0, num_keys, block_size):
            block = table[start // block_size]
            for offset in range(min(block_size, num_keys - start)):
                for kv_head in range(kv_heads):
                    key = key_cache[block, offset, kv_head]
                    for head in range(kv_head * group, (kv_head + 1) * group):
                        score = np.float32(0)
                        for d in range(head_dim):
                            score += query[token, head, d] * key[d]
                        scores[head, start + offset] = score * scale

        for head in range(heads):
            weights = scores[head]
            highest = weights.max()
            for t in range(num_keys):  # a separate loop, so that the compiler can vectorize it
                weights[t] = exp(weights[t] - highest)
            weights /= weights.sum()

        result = np.zeros((heads, head_dim), dtype=np.float32)
        for start in range(0, num_keys, block_size):
            block = table[start // block_size]
            for offset in range(min(block_size, num_keys - start)):
                for kv_head in range(kv_heads):
                    value = value_cache[block, offset, kv_head]
                    for head in range(kv_head * group, (kv_head + 1) * group):
                        weight = scores[head, start + offset]
                        for d in range(head_dim):
                            result[head, d] += weight * value[d]
        output[token] = result
