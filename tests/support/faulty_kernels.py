"""One small attention kernel, and what people get wrong in it: the line with `# here` is at fault.

Every kernel takes the same arguments: a query of [rows, 8], a pool of K and V in blocks of 4, block
tables, lengths, an output. One block of 8 threads for each row, one thread for each element.
"""

import math

from numba import cuda, float32


def right(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    length = lengths[row]
    q = cuda.shared.array(8, float32)
    scores = cuda.shared.array(16, float32)
    q[thread] = query[row, thread]
    cuda.syncthreads()
    for t in range(thread, length, 8):
        block = tables[row, t // 4]
        score = float32(0)
        for d in range(8):
            score += q[d] * keys[block, t % 4, d]
        scores[t] = score
    cuda.syncthreads()
    highest, total, result = scores[0], float32(0), float32(0)
    for t in range(length):
        highest = max(highest, scores[t])
    for t in range(length):
        weight = math.exp(scores[t] - highest)
        total += weight
        result += weight * values[tables[row, t // 4], t % 4, thread]
    output[row, thread] = result / total


def missing_barrier_before_use(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    q = cuda.shared.array(8, float32)
    q[thread] = query[row, thread]
    score = float32(0)
    for d in range(8):
        score += q[d] * keys[tables[row, 0], 0, d]  # here
    output[row, thread] = score


def missing_barrier_after_use(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    tile = cuda.shared.array(8, float32)
    total = float32(0)
    for t in range(lengths[row]):
        tile[thread] = keys[tables[row, t // 4], t % 4, thread]  # here
        cuda.syncthreads()
        for d in range(8):
            total += tile[d]
    output[row, thread] = total


def wrong_stride(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    result = float32(0)
    for t in range(lengths[row]):
        slot = tables[row, t // 4] * 8 + t % 4
        result += values[slot // 4, slot % 4, thread]  # here
    output[row, thread] = result


def off_by_one_tail(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    result = float32(0)
    for t in range(lengths[row] + 1):
        result += values[tables[row, t // 4], t % 4, thread]  # here
    output[row, thread] = result


def unguarded_tail(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    sums = cuda.shared.array(8, float32)
    sums[thread] = float32(0)
    for start in range(0, lengths[row], 8):
        t = start + thread
        block = tables[row, t // 4]
        for d in range(8):
            sums[thread] += keys[block, t % 4, d]  # here
    cuda.syncthreads()
    output[row, thread] = sums[thread]


def divergent_barrier(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    scores = cuda.shared.array(16, float32)
    if thread < lengths[row]:
        scores[thread] = query[row, thread]
        cuda.syncthreads()  # here
    output[row, thread] = scores[0]


def two_barriers(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    if thread < lengths[row]:
        output[row, thread] = query[row, thread]
        cuda.syncthreads()  # here
    else:
        cuda.syncthreads()


def wrong_shuffle_mask(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    total = query[row, thread]
    for step in (1, 2, 4):
        total += cuda.shfl_xor_sync(0x0F, total, step)  # here
    output[row, thread] = total


def unwritten_shared_read(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    q = cuda.shared.array(8, float32)
    if thread < 7:
        q[thread] = query[row, thread]
    cuda.syncthreads()
    total = float32(0)
    for d in range(8):
        total += q[d]  # here
    output[row, thread] = total


def cross_block_write(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    output[0, thread] = query[row, thread]  # here


def stale_shared_index(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    tile = cuda.shared.array((2, 8), float32)
    tile[0, thread] = query[row, thread]
    cuda.syncthreads()
    stage, total = 0, float32(0)
    for t in range(lengths[row]):
        tile[1 - stage, thread] = keys[tables[row, t // 4], t % 4, thread]
        for d in range(8):
            total += tile[1 - stage, d]  # here
        cuda.syncthreads()
        stage = 1 - stage
    output[row, thread] = total


def block_table_one_short(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    result = float32(0)
    for t in range(lengths[row]):
        block = tables[row, t // 4 + 1]  # here
        result += values[block, t % 4, thread]
    output[row, thread] = result


def length_from_the_wrong_sequence(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    result = float32(0)
    for t in range(lengths[0]):
        result += values[tables[row, t // 4], t % 4, thread]  # here
    output[row, thread] = result


def accumulator_not_reset(query, keys, values, tables, lengths, output):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    result = cuda.local.array(1, float32)
    for t in range(lengths[row]):
        result[0] += values[tables[row, t // 4], t % 4, thread]  # here
    output[row, thread] = result[0]


# what each fault has to be called
FAULTS = {
    missing_barrier_before_use: "race",
    missing_barrier_after_use: "race",
    wrong_stride: "unwritten",
    off_by_one_tail: "unwritten",
    unguarded_tail: "unwritten",
    divergent_barrier: "divergence",
    two_barriers: "divergence",
    wrong_shuffle_mask: "shuffle",
    unwritten_shared_read: "unwritten",
    cross_block_write: "race",
    stale_shared_index: "race",
    block_table_one_short: "out of bounds",
    length_from_the_wrong_sequence: "unwritten",
    accumulator_not_reset: "unwritten",
}
