"""Loads a tile side by side, reads it back with a lane to a token."""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head, block_size = head // (query.shape[1] // key_cache.shape[2]), key_cache.shape[1]
    tile = cuda.shared.array((32, 33), float32)
    q = cuda.shared.array(32, float32)
    scores = cuda.shared.array(32, float32)
    q[lane] = query[row, head, lane] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for start in range(0, seq_lens[row], 32):
        length = min(32, seq_lens[row] - start)
        cuda.syncthreads()
        for i in range(length):
            t = start + i
            block = block_tables[row, t // block_size]
            tile[i, lane] = key_cache[block, t % block_size, kv_head, lane]
        cuda.syncthreads()
        if lane < length:
            score = float32(0)
            for d in range(32):
                score += q[d] * tile[lane, d]
            scores[lane] = score
        cuda.syncthreads()
        top = highest
        for i in range(length):
            top = max(top, scores[i])
        shrink = math.exp(highest - top)
        total, result, highest = total * shrink, result * shrink, top
        for i in range(length):
            t = start + i
            weight = math.exp(scores[i] - top)
            block = block_tables[row, t // block_size]
            total += weight
            result += weight * value_cache[block, t % block_size, kv_head, lane]
    output[row, head, lane] = result / total
