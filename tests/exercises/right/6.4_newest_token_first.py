"""A chunk from its last token to its first; a merge whose lanes look at every 32nd chunk."""


def plan_chunks(seq_lens, most):
    chunks = []
    for row, length in enumerate(seq_lens):
        full, rest = divmod(length, most)
        chunks += [(row, i * most, (i + 1) * most) for i in range(full)]
        chunks += [(row, full * most, length)] if rest else []
    return chunks


def score_of(query, key_cache, block_tables, row, head, t, scale):
    block_size, kv_head = key_cache.shape[1], head // (query.shape[1] // key_cache.shape[2])
    d = cuda.threadIdx.x
    key = key_cache[block_tables[row, t // block_size], t % block_size, kv_head, d]
    score = query[row, head, d] * key
    for step in (1, 2, 4, 8, 16):
        score += cuda.shfl_xor_sync(ALL_LANES, score, step)
    return score * scale


def decode_chunk(
    query,
    key_cache,
    value_cache,
    block_tables,
    chunks,
    scale,
    part_output,
    part_highest,
    part_total,
):
    chunk, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    row, begin, end = chunks[chunk, 0], chunks[chunk, 1], chunks[chunk, 2]
    block_size, kv_head = key_cache.shape[1], head // (query.shape[1] // key_cache.shape[2])
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for i in range(end - begin):
        t = end - 1 - i
        score = score_of(query, key_cache, block_tables, row, head, t, scale)
        top = max(highest, score)
        shrink, weight = math.exp(highest - top), math.exp(score - top)
        block = block_tables[row, t // block_size]
        highest, total = top, total * shrink + weight
        result = result * shrink + weight * value_cache[block, t % block_size, kv_head, d]
    part_output[chunk, head, d] = result
    if d == 31:
        part_highest[chunk, head] = highest
        part_total[chunk, head] = total


def merge_chunks(part_output, part_highest, part_total, chunks, output):
    row, head, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    top, total, result = float32(LOWEST), float32(0), float32(0)
    for chunk in range(lane, chunks.shape[0], 32):
        if chunks[chunk, 0] == row:
            top = max(top, part_highest[chunk, head])
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL_LANES, top, step))
    for chunk in range(lane, chunks.shape[0], 32):
        if chunks[chunk, 0] == row:
            total += part_total[chunk, head] * math.exp(part_highest[chunk, head] - top)
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_xor_sync(ALL_LANES, total, step)
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] == row:
            share = math.exp(part_highest[chunk, head] - top)
            result += part_output[chunk, head, lane] * share
    output[row, head, lane] = result / total
