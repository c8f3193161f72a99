"""Counts the chunks of the rows before: the work list is in the order of the rows."""


def merge_chunks(part_output, part_highest, part_total, chunks, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    before, own = 0, 0
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] < row:
            before += 1
        if chunks[chunk, 0] == row:
            own += 1
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for chunk in range(before, before + own):
        top = max(highest, part_highest[chunk, head])
        shrink, share = math.exp(highest - top), math.exp(part_highest[chunk, head] - top)
        highest, total = top, total * shrink + part_total[chunk, head] * share
        result = result * shrink + part_output[chunk, head, d] * share
    output[row, head, d] = result / total
