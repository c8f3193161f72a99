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
# ---------------------------------------------------------------------------------------------
def copy_keys(key_cache, block_tables, seq_lens, keys) -> None:
    """Launched with a grid of [rows] and 64 threads.

    key_cache: [KV blocks, block_size, kv_heads, head_dim]; block_tables: int32 [rows, width];
    seq_lens: int32 [rows], 1 or more; keys: the copy, [rows, longest, kv_heads, head_dim].
    """
    # YOUR CODE for Exercise 6.1 begins here
    raise NotImplementedError("Exercise 6.1: Copy K through the table: not written yet")
    # YOUR CODE for Exercise 6.1 ends here


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
# ---------------------------------------------------------------------------------------------
def decode(query, key_cache, value_cache, block_tables, seq_lens, scale, output) -> None:
    """Launched with a grid of [rows, heads] and 32 threads.

    query, output: [rows, heads, 32]; key_cache, value_cache: [KV blocks, block_size, kv_heads, 32];
    block_tables: int32 [rows, width]; seq_lens: int32 [rows], 1 or more.
    """
    # YOUR CODE for Exercise 6.2 begins here
    raise NotImplementedError("Exercise 6.2: A decode kernel: not written yet")
    # YOUR CODE for Exercise 6.2 ends here


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
# ---------------------------------------------------------------------------------------------
GROUP = 2  # query heads that share a KV head


def decode_group(query, key_cache, value_cache, block_tables, seq_lens, scale, output) -> None:
    """Launched with a grid of [rows, kv_heads] and 32 threads. The arguments are those of `decode`;
    there are twice as many heads as KV heads."""
    # YOUR CODE for Exercise 6.3 begins here
    raise NotImplementedError("Exercise 6.3: Heads that share: not written yet")
    # YOUR CODE for Exercise 6.3 ends here


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
# ---------------------------------------------------------------------------------------------
def plan_chunks(seq_lens: list[int], most: int) -> list[tuple[int, int, int]]:
    """The work list: (row, begin, end) of every chunk, in the order of the rows and tokens.

    seq_lens: tokens of each row, 1 or more; do not change this list. most: the largest number of
    tokens in a chunk. plan_chunks([5, 2], 3) may be [(0, 0, 3), (0, 3, 5), (1, 0, 2)], a new list
    in each call.
    """
    # YOUR CODE for Exercise 6.4 begins here
    raise NotImplementedError("Exercise 6.4: A context in chunks: not written yet")
    # YOUR CODE for Exercise 6.4 ends here


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
    # YOUR CODE for Exercise 6.4 begins here
    raise NotImplementedError("Exercise 6.4: A context in chunks: not written yet")
    # YOUR CODE for Exercise 6.4 ends here


def merge_chunks(part_output, part_highest, part_total, chunks, output) -> None:
    """`merge_chunks` reads the results of `decode_chunk`, and writes output, [rows, heads, 32]."""
    # YOUR CODE for Exercise 6.4 begins here
    raise NotImplementedError("Exercise 6.4: A context in chunks: not written yet")
    # YOUR CODE for Exercise 6.4 ends here
