"""Exercises of lesson 06: a paged-attention kernel.

You write CUDA kernels in Python, as numba compiles them. On any machine, they run in the kernel
lab, which records every access. On a GPU, they run without change. In a kernel you may use

    cuda.blockIdx.x, cuda.blockIdx.y     which thread block this is
    cuda.threadIdx.x, cuda.blockDim.x    which of its threads this is, and how many threads it has
    cuda.shared.array(32, float32)       memory of the thread block; its size is a number
    cuda.local.array(32, float32)        memory of the thread
    cuda.syncthreads()                   a barrier for the thread block
    cuda.shfl_xor_sync(mask, value, n)   the value of the lane whose number differs in the bits of n
    cuda.shfl_sync(mask, value, n)       the value of lane n
    math.exp, min, max, range, int, float32, and the shape of an array

and helper functions of this file, each under `@cuda.jit`, but no import, no list, no dict. Look at
what your kernel does:

    from minibatch import kernel_lab as lab
    case = lab.paged_case([1, 16, 17, 40])      # four rows; lengths in tokens
    case.run(decode, threads=32)                # faults, repeated reads, wrong outputs

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 6.1`.
"""

import math

from numba import cuda, float32

ALL_LANES = 0xFFFFFFFF
LOWEST = -1e30  # below every score, but finite: infinities would give NaN
# The compiler treats LOWEST as 64 bits, like 0.0: in a kernel write float32(LOWEST).


# ---------------------------------------------------------------------------------------------
# Exercise 6.1: Copy K through the table
# 4 points, 30 minutes, difficulty 3 of 5
# lessons/06_a_paged_attention_kernel.ipynb, "Your first kernel"
#
# Copy the keys of each row into one array, in the order of the tokens. The keys are in KV blocks
# that are scattered over the pool. A thread block works for one row, `cuda.blockIdx.x`, and has 64
# threads.
#
# Token `t` of row `r` is in KV block `block_tables[r, t // block_size]`, at offset `t %
# block_size`. Read and write only the first `seq_lens[r]` tokens of a row.
#
# Ask for each sector of 32 bytes once when you read, and once when you write: in each instruction,
# the 32 lanes of a warp should use neighbouring numbers.
#
# The kernel must work for every shape of `key_cache`: any block size of 1 token or more, any number
# of KV heads, and any `head_dim` that is a multiple of 8, such as 48 or 128. (So a sector never
# holds numbers of two heads or of two tokens.)
#
# HINT A row has seq_lens[row] * kv_heads * head_dim numbers. Give these numbers to the threads in
#      turn, as players get cards: number i to thread i % 64.
# HINT range(thread, how_many, cuda.blockDim.x) are the numbers of one thread. Number i belongs to
#      token i // (kv_heads * head_dim), element i % head_dim. To which head does it belong?
# HINT for i in range(thread, seq_lens[row] * kv_heads * head_dim, cuda.blockDim.x):
#          t, head, d = i // (kv_heads * head_dim), i // head_dim % kv_heads, i % head_dim
#          block = block_tables[row, t // block_size]
#          keys[row, t, head, d] = ...
# ---------------------------------------------------------------------------------------------
def copy_keys(key_cache, block_tables, seq_lens, keys) -> None:
    """Launched with a grid of [rows] and 64 threads.

    key_cache: [KV blocks, block_size, kv_heads, head_dim]; block_tables: int32 [rows, width];
    seq_lens: int32 [rows], 1 or more; keys: the copy, [rows, longest, kv_heads, head_dim].
    """
    # BEGIN SOLUTION
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    per_token = kv_heads * head_dim
    for i in range(thread, seq_lens[row] * per_token, cuda.blockDim.x):
        t, head, d = i // per_token, i // head_dim % kv_heads, i % head_dim
        block = block_tables[row, t // block_size]
        keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 6.2: A decode kernel
# 8 points, 30 minutes, difficulty 4 of 5
# lessons/06_a_paged_attention_kernel.ipynb, "Put the parts together"
#
# Each thread block computes one row and one query head: `output = softmax(q k * scale) v` over the
# `seq_lens[row]` tokens of the row. A thread block has 32 threads (a warp), and `head_dim` is 32:
# one lane for each element.
#
# Go through the tokens once, and keep a running maximum, so that the output is right even for
# scores of 500. A row may have any length, so the size of a shared array must not depend on the
# length. Within a thread block, ask for each sector of K and V once. (Exercise 6.3 is about query
# heads that share a KV head.) A KV block may have any number of tokens, 1 or more, and a KV head
# may serve any number of query heads, 1 or more. An output is right if `numpy.isclose(output,
# exact, 2e-5, 2e-5)` says so.
#
# Query head `h` belongs to KV head `h // (heads // kv_heads)`. The file defines `ALL_LANES`, the
# mask of a shuffle among all lanes, and `LOWEST`, the first value of a maximum.
#
# HINT Lane d keeps q[d] and result[d]. For each token the lanes read k[d] side by side, and
#      multiply; the score is the sum over all lanes. Five shuffles give this sum to every lane.
# HINT for step in (16, 8, 4, 2, 1):
#          score += cuda.shfl_xor_sync(ALL_LANES, score, step)
#      All lanes must execute this together: no `if` around it, and no early `return`.
# HINT When a higher maximum `top` comes, multiply the earlier sums by shrink = math.exp(highest -
#      top); the new token has weight = math.exp(score - top). Then total = total * shrink + weight.
#      Do the same for result, with weight * v[d]. At the end output[row, head, d] = result / total.
# ---------------------------------------------------------------------------------------------
def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output) -> None:
    """Launched with a grid of [rows, heads] and 32 threads.

    query, output: [rows, heads, 32]; key_cache, value_cache: [KV blocks, block_size, kv_heads, 32];
    block_tables: int32 [rows, width]; seq_lens: int32 [rows], 1 or more.
    """
    # BEGIN SOLUTION
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        score = q * key_cache[block, offset, kv_head, d]
        for step in (16, 8, 4, 2, 1):
            score += cuda.shfl_xor_sync(ALL_LANES, score, step)
        top = max(highest, score)
        shrink, weight = math.exp(highest - top), math.exp(score - top)
        total = total * shrink + weight
        result = result * shrink + weight * value_cache[block, offset, kv_head, d]
        highest = top
    output[row, head, d] = result / total
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 6.3: Heads that share
# 6 points, 30 minutes, difficulty 4 of 5
# lessons/06_a_paged_attention_kernel.ipynb, "Heads that share"
#
# `GROUP` = 2 query heads share a KV head, so they read the same K and V. One thread block
# computes both query heads: the grid is [rows, kv_heads], with 32 threads. So, for a
# row, each sector of K and V is asked for once. The output must be as exact as in exercise 6.2,
# for KV blocks of any size. Shared memory may contain a tile of tokens of at most 8 KB, but not the
# whole context.
#
# If the compiler for GPUs is installed, your kernel is compiled, too. No operation of the compiled
# kernel may be float64. `0.0` and `LOWEST` are float64, so write `float32(0)` and
# `float32(LOWEST)`. The local arrays must fit into registers, so use them only in loops of a fixed
# length, such as `range(GROUP)`.
#
# HINT You need these four variables twice, once for each query head: q, highest, total, result. You
#      need only one k and one v: read each number into a variable and use the variable twice.
# HINT q = cuda.local.array(GROUP, float32), and so on; then loops over `for g in range(GROUP)`.
#      The query head is kv_head * GROUP + g. A local array has no initial values.
# HINT for t in range(seq_lens[row]):
#          key = key_cache[block, offset, kv_head, d]      # once
#          value = value_cache[block, offset, kv_head, d]
#          for g in range(GROUP):
#              score = q[g] * key
#              ...
# ---------------------------------------------------------------------------------------------
GROUP = 2  # query heads that share a KV head


def decode_group(query, key_cache, value_cache, block_tables, seq_lens, scale, output) -> None:
    """Launched with a grid of [rows, kv_heads] and 32 threads. The arguments are those of `decode`;
    there are twice as many heads as KV heads."""
    # BEGIN SOLUTION
    row, kv_head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    block_size = key_cache.shape[1]
    q = cuda.local.array(GROUP, float32)
    highest = cuda.local.array(GROUP, float32)
    total = cuda.local.array(GROUP, float32)
    result = cuda.local.array(GROUP, float32)
    for g in range(GROUP):
        q[g] = query[row, kv_head * GROUP + g, d] * scale
        highest[g], total[g], result[g] = float32(LOWEST), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        key = key_cache[block, offset, kv_head, d]
        value = value_cache[block, offset, kv_head, d]
        for g in range(GROUP):
            score = q[g] * key
            for step in (16, 8, 4, 2, 1):
                score += cuda.shfl_xor_sync(ALL_LANES, score, step)
            top = max(highest[g], score)
            shrink, weight = math.exp(highest[g] - top), math.exp(score - top)
            highest[g], total[g] = top, total[g] * shrink + weight
            result[g] = result[g] * shrink + weight * value
    for g in range(GROUP):
        output[row, kv_head * GROUP + g, d] = result[g] / total[g]
    # END SOLUTION


# ---------------------------------------------------------------------------------------------
# Exercise 6.4: A context in chunks
# 7 points, 35 minutes, difficulty 4 of 5
# lessons/06_a_paged_attention_kernel.ipynb, "Your turn: chunks"
#
# The exercise has three pieces. `plan_chunks`, an ordinary function, divides every row into as few
# chunks as possible; no chunk has more than `most` tokens. `plan_chunks([5, 2], 3)` may be `[(0, 0,
# 3), (0, 3, 5), (1, 0, 2)]`: row, begin and end of each chunk.
#
# `decode_chunk` works on one chunk for one query head, with a grid of [chunks, heads].
# `merge_chunks` joins the chunks of a row, with a grid of [rows, heads]. Both kernels have 32
# threads, one lane for each element. Both get the work list as an array, `chunks`, int32 [chunks,
# 3], in the order of the rows.
#
# `decode_chunk` does not divide. It writes three results: `part_output`, [chunks, heads, 32], is
# the sum of weight * v; `part_highest` and `part_total`, [chunks, heads], are the highest score of
# the chunk and the sum of the weights exp(score - part_highest). Let only one lane write
# `part_highest` and `part_total`: 32 lanes that write the same number are a race. The other rules
# are those of exercise 6.2: KV blocks of any size, any number of query heads for a KV head, and
# a thread block asks for each sector of K and V once.
#
# `plan_chunks` makes no empty chunks (begin == end), but a caller may add empty chunks to the list,
# because a CUDA graph (a recorded series of launches) needs a grid of a fixed size. An empty chunk
# may come before, between or after the other chunks of its row, and its `begin` may be any number
# from 0 to the length of the row. For an empty chunk, `decode_chunk` writes zeros as sums, and a
# maximum below every score.
#
# HINT for row, length in enumerate(seq_lens): for begin in range(0, length, most): the end is
#      begin + most or the end of the row, whichever is less.
# HINT decode_chunk is like `decode`, but goes from begin to end, not from 0 to seq_lens[row], and
#      writes three results, not the quotient. One lane is enough to write the two numbers.
# HINT merge_chunks: go through all chunks, and skip those of other rows.
#      share = math.exp(part_highest[chunk, head] - top), as if each chunk were one token of weight
#      part_total. First find the maximum of all chunks, or use a running maximum.
# ---------------------------------------------------------------------------------------------
def plan_chunks(seq_lens: list[int], most: int) -> list[tuple[int, int, int]]:
    """The work list: (row, begin, end) of every chunk, in the order of the rows and tokens.

    seq_lens: tokens of each row, 1 or more; do not change this list. most: the largest number of
    tokens in a chunk. plan_chunks([5, 2], 3) may be [(0, 0, 3), (0, 3, 5), (1, 0, 2)], a new list
    in each call.
    """
    # BEGIN SOLUTION
    return [
        (row, begin, min(begin + most, length))
        for row, length in enumerate(seq_lens)
        for begin in range(0, length, most)
    ]
    # END SOLUTION


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
    """Launched with a grid of [chunks, heads] and 32 threads.

    chunks: int32 [chunks, 3], row, begin, end. It writes part_output [chunks, heads, 32],
    part_highest and part_total [chunks, heads]. The other arguments are those of `decode`.
    """
    # BEGIN SOLUTION
    chunk, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    row, kv_head = chunks[chunk, 0], head // (query.shape[1] // key_cache.shape[2])
    block_size, q = key_cache.shape[1], query[row, head, d] * scale
    highest, total, result = float32(LOWEST), float32(0), float32(0)
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
    # END SOLUTION


def merge_chunks(part_output, part_highest, part_total, chunks, output) -> None:
    """`merge_chunks` reads the results of `decode_chunk`, and writes output, [rows, heads, 32]."""
    # BEGIN SOLUTION
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    highest, total, result = float32(LOWEST), float32(0), float32(0)
    for chunk in range(chunks.shape[0]):
        if chunks[chunk, 0] == row:
            top = max(highest, part_highest[chunk, head])
            shrink, share = math.exp(highest - top), math.exp(part_highest[chunk, head] - top)
            total = total * shrink + part_total[chunk, head] * share
            result = result * shrink + part_output[chunk, head, d] * share
            highest = top
    output[row, head, d] = result / total
    # END SOLUTION
