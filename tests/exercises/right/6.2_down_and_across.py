"""Adds up towards lane 0, which then tells the others; a helper function."""


def sum_of(value):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(ALL_LANES, value, step)
    return cuda.shfl_sync(ALL_LANES, value, 0)


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        score = sum_of(q * key_cache[block, offset, kv_head, d])
        value = value_cache[block, offset, kv_head, d]
        if score <= highest:
            weight = math.exp(score - highest)
            total, result = total + weight, result + weight * value
        else:
            shrink = math.exp(highest - score)
            total, result, highest = total * shrink + 1, result * shrink + value, score
    output[row, head, d] = result / total
