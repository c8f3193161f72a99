"""Joins chunks by their shares, of which 256 have room in shared memory.

caught by: test_merge_chunks_runs_without_a_fault_and_gives_what_the_definition_gives
code: access_out_of_bounds
"""


def merge_chunks(part_output, part_highest, part_total, chunks, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    shares = cuda.shared.array(256, float32)
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] == row:
            highest = max(highest, part_highest[chunk, head])
    for chunk in range(d, chunks.shape[0], 32):
        shares[chunk] = float32(0)
        if chunks[chunk, 0] == row:
            shares[chunk] = math.exp(part_highest[chunk, head] - highest)
    cuda.syncthreads()
    for chunk in range(chunks.shape[0]):
        total += part_total[chunk, head] * shares[chunk]
        result += part_output[chunk, head, d] * shares[chunk]
    output[row, head, d] = result / total
