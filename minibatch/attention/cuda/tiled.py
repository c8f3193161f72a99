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

from .shim import cuda, float32, int64, load_16_bytes, narrow, uint32
from .tiling import WARP, Tiling, power_of_two

LOWEST = np.float32(-1e30)  # below every score, and yet a number: infinities would make NaN
ALL_LANES = 0xFFFFFFFF


def make_tiled(tiling: Tiling, split: bool):
    """The kernel for one shape. Launch with a grid of [chunks, kv_heads * slices]."""
    HEAD_DIM, BLOCK_SIZE, KV_HEADS = tiling.head_dim, tiling.block_size, tiling.kv_heads
    GROUP, LINES, SLICES = tiling.group, tiling.lines, tiling.slices
    NUM_HEADS = KV_HEADS * GROUP
    LANES, PIECES, PER_LOAD = tiling.lanes, tiling.pieces, tiling.per_load
    TEAMS, AT_ONCE, NUM_THREADS = tiling.teams, tiling.at_once, tiling.num_threads
    WIDTH = PIECES * PER_LOAD  # numbers of a K that one lane holds
    SKEWED = NUM_THREADS + WARP // PER_LOAD  # so that a warp that reads back uses 32 banks
    LOADED = AT_ONCE * WIDTH
    STRIDE = TEAMS * AT_ONCE
    # A team has a score for each token that it loaded and each line. Each lane owns OWN scores, or
    # SPAN lanes own one together; the upper bits of a lane's number are the token.
    PLACES = power_of_two(LINES)  # of a token's scores; some may stay empty
    SCORES = AT_ONCE * PLACES
    OWN, SPAN = max(1, SCORES // LANES), max(1, LANES // SCORES)
    STEPS, TOKEN_STEPS = LANES.bit_length() - 1, AT_ONCE.bit_length() - 1

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

        q = cuda.local.array((LINES, WIDTH), float32)
        result = cuda.local.array((LINES, WIDTH), float32)
        loaded = cuda.local.array(WIDTH, float32)
        for h in range(LINES):
            for e in range(WIDTH):
                q[h, e] = result[h, e] = loaded[e] = float32(0)
            if h < num_lines:
                line = first_line + h
                head = kv_head * uint32(GROUP) + line % uint32(GROUP)
                base = ((token + line // uint32(GROUP)) * NUM_HEADS + head) * HEAD_DIM
                for p in range(PIECES):
                    d = uint32((p * LANES + lane) * PER_LOAD)
                    if d < HEAD_DIM:
                        load_16_bytes(query, base + d, loaded, p * PER_LOAD)
                for e in range(WIDTH):
                    q[h, e] = loaded[e] * scale

        # A lane owns scores of token i_own, among those loaded at once, and of lines from own on.
        i_own = lane // uint32(SPAN) * uint32(OWN) // uint32(PLACES)
        own = lane // uint32(SPAN) * uint32(OWN) % uint32(PLACES)
        ends = cuda.local.array(OWN, uint32)  # the end of what each line sees; 0 for an unused line
        highest = cuda.local.array(OWN, float32)
        total = cuda.local.array(OWN, float32)
        shrink = cuda.local.array(OWN, float32)
        for o in range(OWN):
            highest[o], total[o], ends[o] = LOWEST, float32(0), uint32(0)
            if own + o < num_lines:
                whose = token + (first_line + own + o) // uint32(GROUP)
                ends[o] = min(end, uint32(positions[whose] + 1))

        bases = cuda.local.array(AT_ONCE, int64)
        keys = cuda.local.array(LOADED, float32)
        values = cuda.local.array(LOADED, float32)
        scores = cuda.local.array(SCORES, float32)
        while start < end:
            # Three loops, not one: then every compiler keeps keys and values in registers.
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

            i = 0
            while i < AT_ONCE:  # not range: newer compilers do not unroll it around so much code
                for h in range(PLACES):
                    score = float32(0)
                    if h < LINES:
                        for e in range(WIDTH):
                            score += q[h, e] * keys[i * WIDTH + e]
                    scores[i * PLACES + h] = score
                i += 1
            # Every lane has a part of every score. In each step it sends half of its parts to its
            # partner, and adds the parts that it receives. At the end each score is complete, in
            # one lane. Adding up one score after the other in all lanes takes twice the shuffles.
            step = 0
            while step < STEPS:
                is_upper = lane & (LANES >> (step + 1)) != 0
                for j in range(SCORES >> (step + 1)):
                    low, high = scores[j], scores[j + (SCORES >> (step + 1))]
                    given, kept = (low, high) if is_upper else (high, low)
                    given = cuda.shfl_xor_sync(ALL_LANES, given, LANES >> (step + 1))
                    scores[j] = kept + given
                if SCORES >> (step + 1) == 0:
                    given = cuda.shfl_xor_sync(ALL_LANES, scores[0], LANES >> (step + 1))
                    scores[0] += given
                step += 1

            grew = False
            for o in range(OWN):
                sees = uint32(start + i_own * TEAMS + team) < ends[o]
                score = scores[o] if sees else LOWEST
                top = max(highest[o], score)
                for step in range(TOKEN_STEPS):
                    top = max(top, cuda.shfl_xor_sync(ALL_LANES, top, LANES >> (step + 1)))
                shrink[o] = math.exp(highest[o] - top)
                grew = grew or top > highest[o]
                highest[o] = top
                scores[o] = math.exp(score - top) if sees else float32(0)  # now a weight
                total[o] = total[o] * shrink[o] + scores[o]
            if cuda.any_sync(ALL_LANES, grew):  # rarely, once the first tokens have passed
                for h in range(LINES):
                    owner = first_lane + h // OWN * SPAN
                    by = cuda.shfl_sync(ALL_LANES, shrink[h % OWN], owner)
                    for e in range(WIDTH):
                        result[h, e] *= by
            i = 0
            while i < AT_ONCE:
                for h in range(LINES):
                    owner = first_lane + (i * PLACES + h) // OWN * SPAN
                    weight = cuda.shfl_sync(ALL_LANES, scores[h % OWN], owner)
                    for e in range(WIDTH):
                        result[h, e] += weight * values[i * WIDTH + e]
                i += 1
            start = uint32(start + STRIDE)

        team_highest = cuda.shared.array((TEAMS, PLACES), float32)
        team_total = cuda.shared.array((TEAMS, PLACES), float32)
        team_result = cuda.shared.array((LINES, WIDTH, SKEWED), float32)
        for o in range(OWN):
            for step in range(TOKEN_STEPS):
                total[o] += cuda.shfl_xor_sync(ALL_LANES, total[o], LANES >> (step + 1))
            if i_own == 0 and lane % uint32(SPAN) == 0:
                team_highest[team, own + o] = highest[o]
                team_total[team, own + o] = total[o]
        for h in range(LINES):
            for e in range(WIDTH):
                team_result[h, e, thread] = result[h, e]
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
