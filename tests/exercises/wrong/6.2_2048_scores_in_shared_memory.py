"""Keeps up to 2,048 scores in shared memory, as much as is allowed.

caught by: test_no_schedule_finds_a_fault
code: access_out_of_bounds
"""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    scores = cuda.shared.array(2048, float32)
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        score = q * key_cache[block_tables[row, t // block_size], t % block_size, kv_head, d]
        for step in (16, 8, 4, 2, 1):
            score += cuda.shfl_xor_sync(ALL_LANES, score, step)
        if d == 0:
            scores[t] = score
        highest = max(highest, score)
    cuda.syncthreads()
    for t in range(seq_lens[row]):
        weight = math.exp(scores[t] - highest)
        total += weight
        result += (
            weight * value_cache[block_tables[row, t // block_size], t % block_size, kv_head, d]
        )
    output[row, head, d] = result / total
