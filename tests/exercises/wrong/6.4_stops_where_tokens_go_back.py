"""Stops at a chunk that begins before the end of the last one: an empty one may end anywhere.

caught by: test_merge_chunks_runs_without_a_fault_and_gives_what_the_definition_gives
code: empty_chunk_cuts_the_row
"""


def merge_chunks(part_output, part_highest, part_total, chunks, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    chunk, end = 0, 0
    while chunks[chunk, 0] != row:
        chunk += 1
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    while chunk < chunks.shape[0] and chunks[chunk, 0] == row and chunks[chunk, 1] >= end:
        top = max(highest, part_highest[chunk, head])
        shrink, share = math.exp(highest - top), math.exp(part_highest[chunk, head] - top)
        total = total * shrink + part_total[chunk, head] * share
        result = result * shrink + part_output[chunk, head, d] * share
        highest, end = top, chunks[chunk, 2]
        chunk += 1
    output[row, head, d] = result / total
