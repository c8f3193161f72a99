"""The kernel that joins the chunks of a token's context."""

import math

import numpy as np

from .shim import cuda, float32, narrow, uint32

LOWEST = np.float32(-1e30)
MERGE_TEAMS, MAX_THREADS = 4, 256  # teams of a thread block; threads of a team


def merge_chunks(
    part_output,  # float32 [chunks, tokens of a chunk, heads, head_dim], not divided yet
    part_highest,  # float32 [chunks, tokens of a chunk, heads]
    part_total,
    merges,  # int32 [n, 4]: token, its place in its chunks, first chunk, past the last
    output,  # [tokens, heads, head_dim]
):
    """Launch with a grid of [n, heads] and MERGE_TEAMS times at least head_dim threads.

    Each team goes over every MERGE_TEAMS-th chunk; a thread of it has an element of the result.
    """
    head, thread = uint32(cuda.blockIdx.y), uint32(cuda.threadIdx.x)
    token, place = uint32(merges[cuda.blockIdx.x, 0]), uint32(merges[cuda.blockIdx.x, 1])
    first, last = uint32(merges[cuda.blockIdx.x, 2]), uint32(merges[cuda.blockIdx.x, 3])
    if first >= last:
        return  # the whole thread block returns, so no thread waits at the barrier
    width = uint32(cuda.blockDim.x) // uint32(MERGE_TEAMS)
    team, d = thread // width, thread % width
    element = min(d, uint32(output.shape[2] - 1))  # a thread beyond head_dim reads the last again

    top, weights, merged = LOWEST, float32(0), float32(0)
    for chunk in range(uint32(first + team), last, MERGE_TEAMS):
        before, highest = top, part_highest[chunk, place, head]
        top = max(before, highest)
        shrink, share = math.exp(before - top), math.exp(highest - top)
        weights = weights * shrink + part_total[chunk, place, head] * share
        merged = merged * shrink + part_output[chunk, place, head, element] * share

    team_highest = cuda.shared.array(MERGE_TEAMS, float32)
    team_total = cuda.shared.array(MERGE_TEAMS, float32)
    team_result = cuda.shared.array((MERGE_TEAMS, MAX_THREADS), float32)
    team_result[team, d] = merged
    if d == 0:
        team_highest[team], team_total[team] = top, weights
    cuda.syncthreads()

    if thread < output.shape[2]:
        top, weights, merged = LOWEST, float32(0), float32(0)
        for i in range(MERGE_TEAMS):
            top = max(top, team_highest[i])
        for i in range(MERGE_TEAMS):
            share = math.exp(team_highest[i] - top)
            weights += team_total[i] * share
            merged += team_result[i, thread] * share
        output[token, head, thread] = narrow(merged / weights, output)
