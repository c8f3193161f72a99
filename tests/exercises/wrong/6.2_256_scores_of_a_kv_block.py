"""Keeps the scores of a KV block in shared memory, where 256 tokens have room.

caught by: test_no_schedule_finds_a_fault
code: access_out_of_bounds
"""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, length, q = key_cache.shape[1], seq_lens[row], query[row, head, d] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    scores = cuda.shared.array(256, float32)
    for i in range((length + block_size - 1) // block_size):
        block, top = block_tables[row, i], highest
        count = min(block_size, length - i * block_size)
        for t in range(count):
            score = q * key_cache[block, t, kv_head, d]
            for step in (16, 8, 4, 2, 1):
                score += cuda.shfl_xor_sync(ALL_LANES, score, step)
            top = max(top, score)
            if d == 0:
                scores[t] = score
        cuda.syncthreads()
        shrink = math.exp(highest - top)
        total, result, highest = total * shrink, result * shrink, top
        for t in range(count):
            weight = math.exp(scores[t] - top)
            total += weight
            result += weight * value_cache[block, t, kv_head, d]
        cuda.syncthreads()
    output[row, head, d] = result / total
