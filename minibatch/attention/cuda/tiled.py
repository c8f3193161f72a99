"""The fast kernel: K and V pass once, in 16-byte loads, for all query heads that share them.

The threads of a warp form teams. A team takes a token's K together, 16 bytes to a lane, so that
what a warp loads lies side by side; the lanes' partial scores meet by shuffles. Each team keeps an
online softmax of its own over every so many tokens: nobody waits for anybody until the end, when
the teams' results are merged in shared memory.

With `parts` above 1 the context is cut, a part to a thread block, for when there are too few rows
to keep every multiprocessor busy; `merge` then joins the parts.
"""

import math
from dataclasses import dataclass

import numpy as np

from .shim import cuda, float32, int64, load_16_bytes, narrow, uint32

WARP = 32
MOST_HEADS = 8
LOWEST = np.float32(-1e30)
ALL_LANES = 0xFFFFFFFF


@dataclass(frozen=True)
class Tiling:
    """How the work is laid out, from a model's shape. See `plan_tiling`."""

    head_dim: int
    block_size: int
    kv_heads: int
    heads: int  # query heads of a thread block, all of one KV head
    slices: int  # thread blocks per KV head; 1 unless its query heads are too many for one
    lanes: int  # of a team
    pieces: int  # 16-byte loads of a lane for one K; the last may lie beyond head_dim
    per_load: int  # numbers in 16 bytes
    num_threads: int  # of a thread block: whole warps
    at_once: int  # tokens a team loads before it computes: loads on their way together

    @property
    def teams(self) -> int:
        return self.num_threads // self.lanes


def plan_tiling(
    head_dim: int,
    block_size: int,
    kv_heads: int,
    group: int,
    itemsize: int,
    num_threads: int = 128,
    compute_capability: tuple[int, int] = (9, 0),
) -> Tiling:
    """group: query heads per KV head; itemsize: bytes of a stored number.

    q and result, heads * width numbers each, stay in registers. For 8.x ptxas takes about twice
    as many registers as for 9.0 from the same source, so there each thread holds half as much.
    """
    per_load = 16 // itemsize
    loads = head_dim // per_load
    lanes = min(WARP, 1 << (loads - 1).bit_length())
    pieces = -(-loads // lanes)
    width = pieces * per_load
    room = 64 if compute_capability >= (9, 0) else 32
    slices = -(-group // min(MOST_HEADS, room // width))
    heads = -(-group // slices)
    at_once = 4 if heads * width <= room // 2 else 2
    shape = (head_dim, block_size, kv_heads, heads, slices)
    return Tiling(*shape, lanes, pieces, per_load, num_threads, at_once)


def make_tiled(tiling: Tiling, group: int, split: bool):
    """The kernel for one shape. Launch with a grid of [tokens, kv_heads * slices, parts]."""
    HEAD_DIM, BLOCK_SIZE, KV_HEADS = tiling.head_dim, tiling.block_size, tiling.kv_heads
    HEADS, SLICES, GROUP = tiling.heads, tiling.slices, group
    NUM_HEADS = KV_HEADS * GROUP
    LANES, PIECES, PER_LOAD = tiling.lanes, tiling.pieces, tiling.per_load
    TEAMS, STEPS = tiling.teams, tiling.lanes.bit_length() - 1
    NUM_THREADS = tiling.num_threads
    AT_ONCE = tiling.at_once
    WIDTH = PIECES * PER_LOAD  # numbers of a K that one lane holds
    SKEWED = NUM_THREADS + WARP // PER_LOAD  # so that a warp that reads back meets 32 banks
    LOADED = AT_ONCE * WIDTH
    STRIDE = TEAMS * AT_ONCE

    def paged_attention_tiled(
        query,  # flat: [tokens, heads, head_dim]
        key_cache,  # the whole pool, flat; its K lie at [block, offset, kv_head]
        value_cache,
        block_tables,  # int32 [rows, width]
        token_rows,  # int32 [tokens]
        positions,  # int64 [tokens]
        scale,
        output,  # as query; with split float32 [parts, tokens, heads, head_dim]
        part_highest,  # float32 [parts, tokens, heads], for merge
        part_total,
    ):
        token, part = uint32(cuda.blockIdx.x), uint32(cuda.blockIdx.z)
        kv_head = uint32(cuda.blockIdx.y) // uint32(SLICES)
        first_head = uint32(cuda.blockIdx.y) % uint32(SLICES) * uint32(HEADS)
        num_heads = min(uint32(HEADS), uint32(GROUP - first_head))
        first_head = uint32(kv_head * uint32(GROUP) + first_head)
        thread = uint32(cuda.threadIdx.x)
        team, lane = thread // uint32(LANES), thread % uint32(LANES)
        row, end = uint32(token_rows[token]), uint32(positions[token] + 1)
        start = uint32(0)
        if split:
            length = uint32((end + cuda.gridDim.z - 1) // cuda.gridDim.z)
            start = uint32(part * length)
            end = min(end, uint32(start + length))

        q = cuda.local.array((HEADS, WIDTH), float32)
        result = cuda.local.array((HEADS, WIDTH), float32)
        loaded = cuda.local.array(WIDTH, float32)
        highest = cuda.local.array(HEADS, float32)
        total = cuda.local.array(HEADS, float32)
        for h in range(HEADS):
            highest[h], total[h] = LOWEST, float32(0)
            for e in range(WIDTH):
                q[h, e] = result[h, e] = loaded[e] = float32(0)
            if h < num_heads:
                base = (token * NUM_HEADS + first_head + h) * HEAD_DIM
                for p in range(PIECES):
                    d = uint32((p * LANES + lane) * PER_LOAD)
                    if d < HEAD_DIM:
                        load_16_bytes(query, base + d, loaded, p * PER_LOAD)
                for e in range(WIDTH):
                    q[h, e] = loaded[e] * scale

        bases = cuda.local.array(AT_ONCE, int64)
        keys = cuda.local.array(LOADED, float32)
        values = cuda.local.array(LOADED, float32)
        scores = cuda.local.array((AT_ONCE, HEADS), float32)
        while start < end:
            # Three loops, not one: only so does every compiler keep keys and values in registers.
            for i in range(AT_ONCE):
                t = min(uint32(start + i * TEAMS + team), uint32(end - 1))
                slot = block_tables[row, t // uint32(BLOCK_SIZE)] * BLOCK_SIZE
                slot += t % uint32(BLOCK_SIZE)
                bases[i] = (slot * KV_HEADS + kv_head) * HEAD_DIM
            for i in range(AT_ONCE):
                for p in range(PIECES):
                    d = uint32((p * LANES + lane) * PER_LOAD)
                    if d < HEAD_DIM:
                        load_16_bytes(key_cache, bases[i] + d, keys, i * WIDTH + p * PER_LOAD)
                    else:
                        for e in range(PER_LOAD):
                            keys[i * WIDTH + p * PER_LOAD + e] = float32(0)
            for i in range(AT_ONCE):
                for p in range(PIECES):
                    d = uint32((p * LANES + lane) * PER_LOAD)
                    if d < HEAD_DIM:
                        load_16_bytes(value_cache, bases[i] + d, values, i * WIDTH + p * PER_LOAD)
                    else:
                        for e in range(PER_LOAD):
                            values[i * WIDTH + p * PER_LOAD + e] = float32(0)

            for i in range(AT_ONCE):
                for h in range(HEADS):
                    score = float32(0)
                    for e in range(WIDTH):
                        score += q[h, e] * keys[i * WIDTH + e]
                    scores[i, h] = score
            for h in range(HEADS):
                top = highest[h]
                for i in range(AT_ONCE):
                    score = scores[i, h]
                    for step in range(STEPS):
                        score += cuda.shfl_xor_sync(ALL_LANES, score, 1 << step)
                    if uint32(start + i * TEAMS + team) >= end:
                        score = LOWEST
                    scores[i, h] = score
                    top = max(top, score)
                shrink = math.exp(highest[h] - top)
                highest[h] = top
                total[h] *= shrink
                for e in range(WIDTH):
                    result[h, e] *= shrink
                for i in range(AT_ONCE):
                    weight = math.exp(scores[i, h] - top)
                    if uint32(start + i * TEAMS + team) >= end:
                        weight = float32(0)
                    total[h] += weight
                    scores[i, h] = weight
            for i in range(AT_ONCE):
                for h in range(HEADS):
                    for e in range(WIDTH):
                        result[h, e] += scores[i, h] * values[i * WIDTH + e]
            start = uint32(start + STRIDE)

        team_highest = cuda.shared.array((TEAMS, HEADS), float32)
        team_total = cuda.shared.array((TEAMS, HEADS), float32)
        team_result = cuda.shared.array((HEADS, WIDTH, SKEWED), float32)
        for h in range(HEADS):
            if lane == 0:
                team_highest[team, h] = highest[h]
                team_total[team, h] = total[h]
            for e in range(WIDTH):
                team_result[h, e, thread] = result[h, e]
        cuda.syncthreads()

        for index in range(thread, num_heads * uint32(HEAD_DIM), NUM_THREADS):
            h, d = uint32(index) // uint32(HEAD_DIM), uint32(index) % uint32(HEAD_DIM)
            whose = (
                d // uint32(PER_LOAD) % uint32(LANES)
            )  # the lane that holds element d, and where
            e = d // uint32(LANES * PER_LOAD) * uint32(PER_LOAD) + d % uint32(PER_LOAD)
            top, weights, merged = LOWEST, float32(0), float32(0)
            for i in range(TEAMS):
                top = max(top, team_highest[i, h])
            for i in range(TEAMS):
                share = math.exp(team_highest[i, h] - top)
                weights += team_total[i, h] * share
                merged += team_result[h, e, i * LANES + whose] * share
            head = first_head + h
            if split:
                output[part, token, head, d] = merged
                if d == 0:
                    part_highest[part, token, head] = top
                    part_total[part, token, head] = weights
            else:
                output[token, head, d] = narrow(merged / weights, output)

    return paged_attention_tiled


def merge_parts(part_output, part_highest, part_total, output):
    """Launch with a grid of [tokens, heads] and no fewer threads than head_dim."""
    token, head = uint32(cuda.blockIdx.x), uint32(cuda.blockIdx.y)
    d = uint32(cuda.threadIdx.x)
    if d < output.shape[2]:
        top, weights, merged = LOWEST, float32(0), float32(0)
        for part in range(part_total.shape[0]):
            top = max(top, part_highest[part, token, head])
        for part in range(part_total.shape[0]):
            share = math.exp(part_highest[part, token, head] - top)
            weights += part_total[part, token, head] * share
            merged += part_output[part, token, head, d] * share
        output[token, head, d] = narrow(merged / weights, output)
