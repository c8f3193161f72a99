"""Joins the chunks of every row.

caught by: test_the_chunks_join_to_the_definition_s_output
says: it should be
"""


def merge_chunks(part_output, part_highest, part_total, chunks, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for chunk in range(chunks.shape[0]):
        if chunk >= 0:
            top = max(highest, part_highest[chunk, head])
            shrink, share = math.exp(highest - top), math.exp(part_highest[chunk, head] - top)
            total = total * shrink + part_total[chunk, head] * share
            result = result * shrink + part_output[chunk, head, d] * share
            highest = top
    output[row, head, d] = result / total
