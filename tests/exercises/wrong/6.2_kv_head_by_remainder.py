"""Takes the remainder where the quotient belongs.

caught by: test_the_output_is_the_definition_s
says: and yours h % kv_heads
"""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head % key_cache.shape[2]
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        score = q * key_cache[block, offset, kv_head, d]
        for step in (16, 8, 4, 2, 1):
            score += cuda.shfl_xor_sync(ALL_LANES, score, step)
        top = max(highest, score)
        shrink, weight = math.exp(highest - top), math.exp(score - top)
        total = total * shrink + weight
        result = result * shrink + weight * value_cache[block, offset, kv_head, d]
        highest = top
    output[row, head, d] = result / total
