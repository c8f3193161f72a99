"""Adds chunks up as they come.

caught by: test_the_chunks_join_to_the_definition_s_output
says: Chunks with a smaller maximum weigh less
"""


def merge_chunks(part_output, part_highest, part_total, chunks, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] == row:
            top = max(highest, part_highest[chunk, head])
            shrink, share = float32(1), float32(1)
            total = total * shrink + part_total[chunk, head] * share
            result = result * shrink + part_output[chunk, head, d] * share
            highest = top
    output[row, head, d] = result / total
