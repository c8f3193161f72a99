"""The kernel to read and to change first: one thread block for each token and query head.

Thread i of a block computes the score of token i of a tile, then element i of the output. It uses
shared memory and barriers only, without warp intrinsics, so its costs are easy to see. The kernel
lab shows them: neighbouring threads read keys of different tokens, far apart in memory.
"""

import math

import numpy as np

from .shim import cuda, float32, narrow, uint32, widen

MAX_THREADS = 256  # and so the largest head_dim
LOWEST = np.float32(-1e30)  # below every score, and yet a number: infinities would make NaN


def paged_attention_simple(
    query,  # [tokens, heads, head_dim]
    key_cache,  # [blocks, block_size, kv_heads, head_dim]
    value_cache,
    block_tables,  # int32 [rows, width]
    token_rows,  # int32 [tokens]: whose block table a token reads
    positions,  # int64 [tokens]: a token sees itself and everything before it
    scale,
    output,  # as query
):
    """Launch with a grid of [tokens, heads] and 32 to 256 threads, at least head_dim."""
    token, head = uint32(cuda.blockIdx.x), uint32(cuda.blockIdx.y)
    thread, num_threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    head_dim = uint32(query.shape[2])
    kv_head = head // uint32(query.shape[1] // key_cache.shape[2])
    block_size = uint32(key_cache.shape[1])
    row = uint32(token_rows[token])
    context = uint32(positions[token] + 1)

    q = cuda.shared.array(MAX_THREADS, float32)
    scores = cuda.shared.array(MAX_THREADS, float32)
    weights = cuda.shared.array(MAX_THREADS, float32)
    if thread < head_dim:
        q[thread] = widen(query[token, head, thread]) * scale
    highest, total, result = LOWEST, float32(0), float32(0)
    cuda.syncthreads()  # q is complete

    for start in range(uint32(0), context, num_threads):
        length = min(num_threads, uint32(context - start))  # of this tile
        if thread < length:
            t = uint32(start + thread)
            block = uint32(block_tables[row, t // block_size])
            score = float32(0)
            for d in range(head_dim):
                score += q[d] * widen(key_cache[block, t % block_size, kv_head, d])
            scores[thread] = score
        cuda.syncthreads()  # every score is there; the last tile's weights are done with

        before = highest
        for i in range(length):
            highest = max(highest, scores[i])
        if thread < length:
            weights[thread] = math.exp(scores[thread] - highest)
        cuda.syncthreads()  # every weight is there; every score has been read

        shrink = math.exp(before - highest)  # what was summed up to here was too large by this
        total, result = total * shrink, result * shrink
        for i in range(length):
            total += weights[i]
            if thread < head_dim:
                t = uint32(start + i)
                block = uint32(block_tables[row, t // block_size])
                value = value_cache[block, t % block_size, kv_head, thread]
                result += weights[i] * widen(value)

    if thread < head_dim:
        output[token, head, thread] = narrow(result / total, output)
