"""The kernel that joins the chunks of a token's context."""

import math

import numpy as np

from .shim import cuda, float32, narrow, uint32

LOWEST = np.float32(-1e30)


def merge_chunks(
    part_output,  # float32 [chunks, tokens of a chunk, heads, head_dim], not divided yet
    part_highest,  # float32 [chunks, tokens of a chunk, heads]
    part_total,
    merges,  # int32 [n, 4]: token, its place in its chunks, first chunk, past the last
    output,  # [tokens, heads, head_dim]
):
    """Launch with a grid of [n, heads] and at least head_dim threads."""
    head, d = uint32(cuda.blockIdx.y), uint32(cuda.threadIdx.x)
    token, place = uint32(merges[cuda.blockIdx.x, 0]), uint32(merges[cuda.blockIdx.x, 1])
    first, last = uint32(merges[cuda.blockIdx.x, 2]), uint32(merges[cuda.blockIdx.x, 3])
    if first < last and d < output.shape[2]:
        top, weights, merged = LOWEST, float32(0), float32(0)
        for chunk in range(first, last):
            top = max(top, part_highest[chunk, place, head])
        for chunk in range(first, last):
            share = math.exp(part_highest[chunk, place, head] - top)
            weights += part_total[chunk, place, head] * share
            merged += part_output[chunk, place, head, d] * share
        output[token, head, d] = narrow(merged / weights, output)
