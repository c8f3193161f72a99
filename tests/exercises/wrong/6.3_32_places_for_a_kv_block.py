"""Keeps K and V of a KV block in shared memory, in 32 places.

caught by: test_no_schedule_finds_a_fault_in_the_group
code: array_shorter_than_a_kv_block
"""


def decode_group(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, kv_head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    block_size, length = key_cache.shape[1], seq_lens[row]
    keys, values = cuda.shared.array((32, 32), float32), cuda.shared.array((32, 32), float32)
    q, highest = cuda.local.array(GROUP, float32), cuda.local.array(GROUP, float32)
    total, result = cuda.local.array(GROUP, float32), cuda.local.array(GROUP, float32)
    for g in range(GROUP):
        q[g] = query[row, kv_head * GROUP + g, d] * float32(scale)
        highest[g], total[g], result[g] = float32(LOWEST), float32(0), float32(0)
    for start in range(0, length, block_size):
        there, block = min(block_size, length - start), block_tables[row, start // block_size]
        for i in range(there):
            keys[i, d] = key_cache[block, i, kv_head, d]
            values[i, d] = value_cache[block, i, kv_head, d]
        cuda.syncthreads()
        for i in range(there):
            for g in range(GROUP):
                score = q[g] * keys[i, d]
                for step in (16, 8, 4, 2, 1):
                    score += cuda.shfl_xor_sync(ALL_LANES, score, step)
                top = max(highest[g], score)
                shrink, weight = math.exp(highest[g] - top), math.exp(score - top)
                highest[g], total[g] = top, total[g] * shrink + weight
                result[g] = result[g] * shrink + weight * values[i, d]
        cuda.syncthreads()
    for g in range(GROUP):
        output[row, kv_head * GROUP + g, d] = result[g] / total[g]
