"""Tiles of 32 tokens, each under its own maximum: what was summed up before grows beyond float32.

caught by: test_the_output_is_what_the_definition_gives
code: weights_are_no_numbers
"""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, length = key_cache.shape[1], seq_lens[row]
    q, scores = query[row, head, lane] * scale, cuda.shared.array(32, float32)
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for begin in range(0, length, 32):
        num, top = min(32, length - begin), float32(LOWEST)
        for i in range(num):
            t = begin + i
            block = block_tables[row, t // block_size]
            score = q * key_cache[block, t % block_size, kv_head, lane]
            for step in (16, 8, 4, 2, 1):
                score += cuda.shfl_xor_sync(ALL_LANES, score, step)
            top = max(top, score)
            if lane == 0:
                scores[i] = score
        cuda.syncthreads()
        shrink = math.exp(highest - top)
        total, result, highest = total * shrink, result * shrink, top
        for i in range(num):
            t = begin + i
            block, weight = block_tables[row, t // block_size], math.exp(scores[i] - top)
            total += weight
            result += weight * value_cache[block, t % block_size, kv_head, lane]
        cuda.syncthreads()
    output[row, head, lane] = result / total
