"""The fast kernel: it reads K and V once, in 16-byte loads, for all lines that share them.

A *line* is one query head of one new token. The threads of a warp form *teams*. A team loads a
token's K together, 16 bytes for each lane, so that the loads of a warp are adjacent. Each team has
its own online softmax over every TEAMS-th token. Teams do not wait for each other until the end,
when their results are merged in shared memory.

A thread block computes one chunk of a row's context, for one KV head. If contexts are cut into
several chunks (`split`), merge.py joins them.
"""

import math

import numpy as np

from .shim import cuda, float32, int32, int64, load_16_bytes, narrow, uint32
from .tiling import WARP, Tiling, power_of_two

LOWEST = np.float32(-1e30)  # below every score, and yet a number: infinities would make NaN
UNSEEN = np.float32(-2e30)  # the score of a token that a line does not see: always of weight 0
ALL_LANES = 0xFFFFFFFF


def make_tiled(tiling: Tiling, split: bool):
    """The kernel for one shape. Launch with a grid of [chunks, kv_heads * slices]."""
    HEAD_DIM, BLOCK_SIZE, KV_HEADS = tiling.head_dim, tiling.block_size, tiling.kv_heads
    GROUP, LINES, SLICES = tiling.group, tiling.lines, tiling.slices
    NUM_HEADS = KV_HEADS * GROUP
    LANES, PIECES, PER_LOAD = tiling.lanes, tiling.pieces, tiling.per_load
    TEAMS, AT_ONCE, NUM_THREADS = tiling.teams, tiling.at_once, tiling.num_threads
    WIDTH = PIECES * PER_LOAD  # numbers of a K that one lane holds
    LAST_LOAD = HEAD_DIM - PER_LOAD  # lanes beyond head_dim read it again; their q is 0
    SKEWED = NUM_THREADS + WARP // PER_LOAD  # so that a warp that reads back uses 32 banks
    LOADED = AT_ONCE * WIDTH
    STRIDE = TEAMS * AT_ONCE
    # A team has a score for each token that it loaded and each line. SPREAD lanes compute the
    # weights of one line, their own. If LINES is a power of two, slot h of a lane is line h ^ own:
    # then a lane's slot 0 is its own line, and every other slot h belongs to lane ^ h * SPREAD.
    PLACES = power_of_two(LINES)
    SCORES, SPREAD = PLACES * AT_ONCE, LANES // PLACES
    SPREAD_STEPS = SPREAD.bit_length() - 1
    REORDERED = LINES == PLACES

    def paged_attention_tiled(
        query,  # flat: [tokens, heads, head_dim]
        key_cache,  # the whole pool, flat; its K lie at [block, offset, kv_head]
        value_cache,
        block_tables,  # int32 [rows, width]
        positions,  # int64 [tokens]: a token sees itself and everything before it
        chunks,  # int32 [chunks, 5]: row, first new token, how many, begin, end
        scale,
        output,  # as query; with split float32 [chunks, tokens of a chunk, heads, head_dim]
        part_highest,  # float32 [chunks, tokens of a chunk, heads], for merge.py
        part_total,
    ):
        chunk = uint32(cuda.blockIdx.x)
        kv_head = uint32(cuda.blockIdx.y) // uint32(SLICES)
        first_line = uint32(cuda.blockIdx.y) % uint32(SLICES) * uint32(LINES)
        row, token = uint32(chunks[chunk, 0]), uint32(chunks[chunk, 1])
        num_lines = uint32(chunks[chunk, 2]) * uint32(GROUP)
        start, end = uint32(chunks[chunk, 3]), uint32(chunks[chunk, 4])
        if start >= end or first_line >= num_lines:
            return  # the whole thread block returns, so no thread waits at a barrier
        num_lines = min(uint32(LINES), uint32(num_lines - first_line))
        thread = uint32(cuda.threadIdx.x)
        team, lane = thread // uint32(LANES), thread % uint32(LANES)
        first_lane = thread % uint32(WARP) - lane  # of the team, in its warp
        own = lane // uint32(SPREAD)  # a line

        q = cuda.local.array((LINES, WIDTH), float32)
        result = cuda.local.array((LINES, WIDTH), float32)
        loaded = cuda.local.array(WIDTH, float32)
        for h in range(LINES):
            for e in range(WIDTH):
                q[h, e] = result[h, e] = loaded[e] = float32(0)
            line = uint32(h) ^ own if REORDERED else uint32(h)
            if line < num_lines:
                line += first_line
                head = kv_head * uint32(GROUP) + line % uint32(GROUP)
                base = ((token + line // uint32(GROUP)) * NUM_HEADS + head) * HEAD_DIM
                for p in range(PIECES):
                    d = uint32((p * LANES + lane) * PER_LOAD)
                    if d < HEAD_DIM:
                        load_16_bytes(query, base + d, loaded, p * PER_LOAD)
                for e in range(WIDTH):
                    q[h, e] = loaded[e] * scale

        highest, total, own_end = LOWEST, float32(0), uint32(0)
        if own < num_lines:
            own_end = min(end, uint32(positions[token + (first_line + own) // uint32(GROUP)] + 1))

        blocks = cuda.local.array(AT_ONCE, int32)
        bases = cuda.local.array(AT_ONCE, int64)
        keys = cuda.local.array(LOADED, float32)
        values = cuda.local.array(LOADED, float32)
        scores = cuda.local.array(SCORES, float32)
        for i in range(AT_ONCE):
            t = min(uint32(start + i * TEAMS + team), uint32(end - 1))
            blocks[i] = block_tables[row, t // uint32(BLOCK_SIZE)]
        while start < end:
            # Three loops, not one: then every compiler keeps keys and values in registers.
            for i in range(AT_ONCE):
                t = min(uint32(start + i * TEAMS + team), uint32(end - 1))
                slot = blocks[i] * BLOCK_SIZE + t % uint32(BLOCK_SIZE)
                bases[i] = (slot * KV_HEADS + kv_head) * HEAD_DIM
            for i in range(AT_ONCE):
                for p in range(PIECES):
                    d = min(uint32((p * LANES + lane) * PER_LOAD), uint32(LAST_LOAD))
                    load_16_bytes(key_cache, bases[i] + d, keys, i * WIDTH + p * PER_LOAD)
            for i in range(AT_ONCE):
                for p in range(PIECES):
                    d = min(uint32((p * LANES + lane) * PER_LOAD), uint32(LAST_LOAD))
                    load_16_bytes(value_cache, bases[i] + d, values, i * WIDTH + p * PER_LOAD)

            for i in range(AT_ONCE):
                t = min(uint32(start + STRIDE + i * TEAMS + team), uint32(end - 1))
                blocks[i] = block_tables[row, t // uint32(BLOCK_SIZE)]

            for h in range(PLACES):
                for i in range(AT_ONCE):
                    score = float32(0)
                    if h < LINES:
                        for e in range(WIDTH):
                            score += q[h, e] * keys[i * WIDTH + e]
                    scores[h * AT_ONCE + i] = score
            # Every lane has a part of every score. Slot by slot it sends parts of other lines, and
            # adds the parts of its own half, quarter, ... of the lines that it receives. Adding up
            # one score after the other in all lanes takes more shuffles.
            for n in range(1, PLACES):
                h = PLACES - n
                bit = 4 if h >= 4 else 2 if h >= 2 else 1  # of h, the highest
                for i in range(AT_ONCE):
                    kept, given = scores[(h - bit) * AT_ONCE + i], scores[h * AT_ONCE + i]
                    if not REORDERED and own & uint32(bit):
                        kept, given = given, kept
                    given = cuda.shfl_xor_sync(ALL_LANES, given, bit * SPREAD)
                    scores[(h - bit) * AT_ONCE + i] = kept + given
            for i in range(AT_ONCE):
                for step in range(SPREAD_STEPS):
                    scores[i] += cuda.shfl_xor_sync(ALL_LANES, scores[i], SPREAD >> (step + 1))

            top = highest
            for i in range(AT_ONCE):
                if uint32(start + i * TEAMS + team) < own_end:
                    top = max(top, scores[i])
                else:
                    scores[i] = UNSEEN
            shrink = math.exp(highest - top)
            total *= shrink
            for i in range(AT_ONCE):
                scores[i] = math.exp(scores[i] - top)  # now a weight
                total += scores[i]
            highest = top
            if cuda.any_sync(ALL_LANES, shrink < float32(1)):  # rarely, after the first tokens
                for h in range(LINES):
                    by = shrink
                    if not REORDERED:
                        by = cuda.shfl_sync(ALL_LANES, shrink, first_lane + h * SPREAD)
                    elif h:
                        by = cuda.shfl_xor_sync(ALL_LANES, shrink, h * SPREAD)
                    for e in range(WIDTH):
                        result[h, e] *= by
            for i in range(AT_ONCE):
                for h in range(LINES):
                    weight = scores[i]
                    if not REORDERED:
                        weight = cuda.shfl_sync(ALL_LANES, weight, first_lane + h * SPREAD)
                    elif h:
                        weight = cuda.shfl_xor_sync(ALL_LANES, weight, h * SPREAD)
                    for e in range(WIDTH):
                        result[h, e] += weight * values[i * WIDTH + e]
            start = uint32(start + STRIDE)

        team_highest = cuda.shared.array((TEAMS, PLACES), float32)
        team_total = cuda.shared.array((TEAMS, PLACES), float32)
        team_result = cuda.shared.array((LINES, WIDTH, SKEWED), float32)
        if lane % uint32(SPREAD) == 0:
            team_highest[team, own], team_total[team, own] = highest, total
        for h in range(LINES):
            line = uint32(h) ^ own if REORDERED else uint32(h)
            for e in range(WIDTH):
                team_result[line, e, thread] = result[h, e]
        cuda.syncthreads()

        for index in range(thread, num_lines * uint32(HEAD_DIM), NUM_THREADS):
            h, d = uint32(index) // uint32(HEAD_DIM), uint32(index) % uint32(HEAD_DIM)
            # the lane that holds element d, and the element's index there
            whose = d // uint32(PER_LOAD) % uint32(LANES)
            e = d // uint32(LANES * PER_LOAD) * uint32(PER_LOAD) + d % uint32(PER_LOAD)
            top, weights, merged = LOWEST, float32(0), float32(0)
            for i in range(TEAMS):
                top = max(top, team_highest[i, h])
            for i in range(TEAMS):
                share = math.exp(team_highest[i, h] - top)
                weights += team_total[i, h] * share
                merged += team_result[h, e, i * LANES + whose] * share
            place = (first_line + h) // uint32(GROUP)
            head = kv_head * uint32(GROUP) + (first_line + h) % uint32(GROUP)
            if split:
                output[chunk, place, head, d] = merged
                if d == 0:
                    part_highest[chunk, place, head] = top
                    part_total[chunk, place, head] = weights
            else:
                output[token + place, head, d] = narrow(merged / weights, output)

    return paged_attention_tiled
