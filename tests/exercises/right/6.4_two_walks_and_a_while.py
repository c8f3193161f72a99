"""Finds the maximum first; a plan by while."""


def plan_chunks(seq_lens, most):
    chunks = []
    for row, left in enumerate(seq_lens):
        begin = 0
        while left > 0:
            size = min(left, most)
            chunks.append([row, begin, begin + size])
            begin, left = begin + size, left - size
    return chunks


def merge_chunks(part_output, part_highest, part_total, chunks, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    top, total, result = float32(LOWEST), float32(0), float32(0)
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] == row:
            top = max(top, part_highest[chunk, head])
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] == row:
            share = math.exp(part_highest[chunk, head] - top)
            total += part_total[chunk, head] * share
            result += part_output[chunk, head, d] * share
    output[row, head, d] = result / total
