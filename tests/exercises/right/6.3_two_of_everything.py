"""Names instead of arrays."""


def decode_group(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, kv_head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    block_size = key_cache.shape[1]
    q0 = query[row, 2 * kv_head, d] * scale
    q1 = query[row, 2 * kv_head + 1, d] * scale
    top0, total0, result0 = float32(LOWEST), float32(0), float32(0)
    top1, total1, result1 = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        key = key_cache[block, offset, kv_head, d]
        value = value_cache[block, offset, kv_head, d]
        score0, score1 = q0 * key, q1 * key
        for step in (1, 2, 4, 8, 16):
            score0 += cuda.shfl_xor_sync(ALL_LANES, score0, step)
            score1 += cuda.shfl_xor_sync(ALL_LANES, score1, step)
        new0, new1 = max(top0, score0), max(top1, score1)
        shrink0, weight0 = math.exp(top0 - new0), math.exp(score0 - new0)
        shrink1, weight1 = math.exp(top1 - new1), math.exp(score1 - new1)
        top0, total0, result0 = (
            new0,
            total0 * shrink0 + weight0,
            result0 * shrink0 + weight0 * value,
        )
        top1, total1, result1 = (
            new1,
            total1 * shrink1 + weight1,
            result1 * shrink1 + weight1 * value,
        )
    output[row, 2 * kv_head, d] = result0 / total0
    output[row, 2 * kv_head + 1, d] = result1 / total1
