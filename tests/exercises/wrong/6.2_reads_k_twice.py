"""Once for the maximum, once for the weights.

caught by: test_a_thread_block_reads_each_key_and_value_once
code: number_read_again
"""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        score = q * key_cache[block_tables[row, t // block_size], t % block_size, kv_head, d]
        for step in (16, 8, 4, 2, 1):
            score += cuda.shfl_xor_sync(ALL_LANES, score, step)
        highest = max(highest, score)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        score = q * key_cache[block, offset, kv_head, d]
        for step in (16, 8, 4, 2, 1):
            score += cuda.shfl_xor_sync(ALL_LANES, score, step)
        weight = math.exp(score - highest)
        total += weight
        result += weight * value_cache[block, offset, kv_head, d]
    output[row, head, d] = result / total
