"""A chunk and a merge whose first maximum is minus infinity.

caught by: test_merge_chunks_runs_without_a_fault_and_gives_what_the_definition_gives
code: infinity_minus_infinity
"""


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
) -> None:
    chunk, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    row, kv_head = chunks[chunk, 0], head // (query.shape[1] // key_cache.shape[2])
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    highest, total, result = float32(-math.inf), float32(0), float32(0)
    for t in range(chunks[chunk, 1], chunks[chunk, 2]):
        block, offset = block_tables[row, t // block_size], t % block_size
        score = q * key_cache[block, offset, kv_head, d]
        for step in (16, 8, 4, 2, 1):
            score += cuda.shfl_xor_sync(ALL_LANES, score, step)
        top = max(highest, score)
        shrink, weight = math.exp(highest - top), math.exp(score - top)
        total = total * shrink + weight
        result = result * shrink + weight * value_cache[block, offset, kv_head, d]
        highest = top
    part_output[chunk, head, d] = result
    if d == 0:
        part_highest[chunk, head], part_total[chunk, head] = highest, total


def merge_chunks(part_output, part_highest, part_total, chunks, output) -> None:
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    highest, total, result = float32(-math.inf), float32(0), float32(0)
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] == row:
            top = max(highest, part_highest[chunk, head])
            shrink, share = math.exp(highest - top), math.exp(part_highest[chunk, head] - top)
            total = total * shrink + part_total[chunk, head] * share
            result = result * shrink + part_output[chunk, head, d] * share
            highest = top
    output[row, head, d] = result / total
