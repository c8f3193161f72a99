"""Sixteen tokens of K in a tile: a lane to a token and a head; then a lane to an element."""


def decode_group(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, kv_head, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    block_size, token, head = key_cache.shape[1], lane % 16, lane // 16
    keys, weights = cuda.shared.array((16, 33), float32), cuda.shared.array((2, 16), float32)
    q = cuda.shared.array((2, 32), float32)
    q[0, lane] = query[row, 2 * kv_head, lane] * scale
    q[1, lane] = query[row, 2 * kv_head + 1, lane] * scale
    highest, total = float32(LOWEST), float32(0)  # of this lane's head
    first, second = float32(0), float32(0)  # element `lane` of both heads
    for start in range(0, seq_lens[row], 16):
        number = min(16, seq_lens[row] - start)
        for i in range(number):
            block = block_tables[row, (start + i) // block_size]
            keys[i, lane] = key_cache[block, (start + i) % block_size, kv_head, lane]
        cuda.syncthreads()
        score = float32(LOWEST)
        if token < number:
            score = float32(0)
            for d in range(32):
                score += q[head, d] * keys[token, d]
        top = score
        for step in (8, 4, 2, 1):  # within sixteen lanes
            top = max(top, cuda.shfl_xor_sync(ALL_LANES, top, step))
        top = max(top, highest)
        weight, shrink = math.exp(score - top), math.exp(highest - top)
        weights[head, token] = weight
        for step in (8, 4, 2, 1):
            weight += cuda.shfl_xor_sync(ALL_LANES, weight, step)
        total, highest = total * shrink + weight, top
        first *= cuda.shfl_sync(ALL_LANES, shrink, 0)
        second *= cuda.shfl_sync(ALL_LANES, shrink, 16)
        cuda.syncthreads()
        for i in range(number):
            block = block_tables[row, (start + i) // block_size]
            value = value_cache[block, (start + i) % block_size, kv_head, lane]
            first += weights[0, i] * value
            second += weights[1, i] * value
        cuda.syncthreads()
    output[row, 2 * kv_head, lane] = first / cuda.shfl_sync(ALL_LANES, total, 0)
    output[row, 2 * kv_head + 1, lane] = second / cuda.shfl_sync(ALL_LANES, total, 16)
