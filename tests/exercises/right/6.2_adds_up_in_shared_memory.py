"""Each lane adds up all products, which lie in shared memory: slow, and right."""


def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    products = cuda.shared.array(32, float32)
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        products[d] = q * key_cache[block, offset, kv_head, d]
        cuda.syncthreads()
        score = float32(0)
        for lane in range(32):
            score += products[lane]
        cuda.syncthreads()
        top = max(highest, score)
        shrink, weight = math.exp(highest - top), math.exp(score - top)
        total = total * shrink + weight
        result = result * shrink + weight * value_cache[block, offset, kv_head, d]
        highest = top
    output[row, head, d] = result / total
