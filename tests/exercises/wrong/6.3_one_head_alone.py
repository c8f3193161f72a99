"""Forgets the second head.

caught by: test_the_output_of_both_heads_is_what_the_definition_gives
code: output_is_never_written
"""


def decode_group(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, kv_head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    block_size = key_cache.shape[1]
    q = cuda.local.array(GROUP, float32)
    highest = cuda.local.array(GROUP, float32)
    total = cuda.local.array(GROUP, float32)
    result = cuda.local.array(GROUP, float32)
    for g in range(1):
        q[g] = query[row, kv_head * GROUP + g, d] * scale
        highest[g], total[g], result[g] = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        key = key_cache[block, offset, kv_head, d]
        value = value_cache[block, offset, kv_head, d]
        for g in range(1):
            score = q[g] * key
            for step in (16, 8, 4, 2, 1):
                score += cuda.shfl_xor_sync(ALL_LANES, score, step)
            top = max(highest[g], score)
            shrink, weight = math.exp(highest[g] - top), math.exp(score - top)
            highest[g], total[g] = top, total[g] * shrink + weight
            result[g] = result[g] * shrink + weight * value
    for g in range(1):
        output[row, kv_head * GROUP + g, d] = result[g] / total[g]
