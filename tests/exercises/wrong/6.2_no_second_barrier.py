"""The scores of a tile are written over while others still read them.

caught by: test_no_schedule_finds_a_fault
code: threads_race
"""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head, block_size = head // (query.shape[1] // key_cache.shape[2]), key_cache.shape[1]
    q = cuda.shared.array(32, float32)
    scores = cuda.shared.array(32, float32)
    q[lane] = query[row, head, lane] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    cuda.syncthreads()
    for start in range(0, seq_lens[row], 32):
        t = start + lane
        if t < seq_lens[row]:
            block, score = block_tables[row, t // block_size], float32(0)
            for d in range(32):
                score += q[d] * key_cache[block, t % block_size, kv_head, d]
            scores[lane] = score
        cuda.syncthreads()
        for i in range(min(32, seq_lens[row] - start)):
            block = block_tables[row, (start + i) // block_size]
            top = max(highest, scores[i])
            shrink, weight = math.exp(highest - top), math.exp(scores[i] - top)
            total = total * shrink + weight
            value = value_cache[block, (start + i) % block_size, kv_head, lane]
            result = result * shrink + weight * value
            highest = top
    output[row, head, lane] = result / total
