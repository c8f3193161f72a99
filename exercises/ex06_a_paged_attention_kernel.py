"""Exercises of lesson 06: a paged-attention kernel.

You write CUDA kernels in Python, as numba compiles them. They run in the kernel lab, on any
machine, which watches every access; and unchanged on a GPU. In a kernel you may use

    cuda.blockIdx.x, cuda.blockIdx.y     which thread block this is
    cuda.threadIdx.x, cuda.blockDim.x    which of its threads this is, and how many there are
    cuda.shared.array(32, float32)       memory of the thread block; its size is a number
    cuda.local.array(32, float32)        memory of the thread
    cuda.syncthreads()                   a barrier for the thread block
    cuda.shfl_xor_sync(mask, value, n)   the value of the lane whose number differs in the bits of n
    cuda.shfl_sync(mask, value, n)       the value of lane n
    math.exp, min, max, range, float32, int32, and the shape of an array

and helper functions of this file, but no import, no list, no dict. Look at what your kernel does:

    from minibatch import kernel_lab as lab
    case = lab.paged_case([1, 16, 17, 40])      # four rows; lengths in tokens
    case.run(decode, threads=32)                # faults, what was read again, what is wrong

Save this file, then press Check on its card in the lesson, or run `python -m minibatch grade 6.1`.
"""

import math

from numba import cuda, float32

ALL_LANES = 0xFFFFFFFF
LOWEST = -1e30  # below every score, and yet a number: infinities would make NaN
# By itself it has 64 bits for the compiler, as 0.0 has: in a kernel write float32(LOWEST).


# ---------------------------------------------------------------------------------------------
# Exercise 6.1: Copy K through the table
# 4 points, 10 minutes, difficulty 2 of 5
# lessons/06_a_paged_attention_kernel.ipynb, "Your first kernel"
#
# The keys of each row lie scattered over the pool, in KV blocks. Copy them into one array, in
# their order. A thread block works for one row, `cuda.blockIdx.x`; it has 64 threads.
#
# Token `t` of row `r` lies in KV block `block_tables[r, t // block_size]`, there at
# `t % block_size`. Read nothing beyond `seq_lens[r]`, and leave the copy unwritten there. Block
# size, KV heads and head_dim are what the shape of `key_cache` says: a KV block may have any number
# of tokens, 1 or more, and a token any number of KV heads; head_dim may be 48, or more than 64.
# Read each sector of 32 bytes once, and write each once: the 32 lanes of a warp should use
# neighbouring numbers in the same instruction. (In every case head_dim is a multiple of 8, so that
# no two heads share a sector, and no two tokens.)
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
# A thread block for each row and query head: `output = softmax(q k * scale) v` over the
# `seq_lens[row]` tokens of the row. It has 32 threads, a warp, and head_dim is 32: a lane to an
# element.
#
# Walk over the tokens once, with a running maximum, so that scores of 500 do no harm, and rows may
# be as long as they like: no shared array may grow with the context. Read each sector of K and V
# once in a thread block. (The heads that share a KV head are exercise 6.3.) A KV block may have any
# number of tokens, 1 or more, and a KV head may serve 1, 2, 4 or any other number of query heads.
# An output is right if numpy.isclose(output, exact, 2e-5, 2e-5) says so.
#
# Query head `h` belongs to KV head `h // (heads // kv_heads)`. The file defines `ALL_LANES`, the
# mask of a shuffle among all lanes, and `LOWEST`, for a maximum to begin at.
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
# Two query heads, `GROUP`, read the same K and V, those of their KV head. Give both to one thread
# block: a grid of [rows, kv_heads], 32 threads. Read each sector of K and V once, over all thread
# blocks of a row, and compute what exercise 6.2 computes, as exactly, for KV blocks of any size.
# Shared memory may hold a tile of tokens, 8 KiB at most, and not a context.
#
# Where the compiler for GPUs is installed, it is compiled, too. Nothing in it may be float64, as
# `0.0` and `LOWEST` are: write `float32(0)`, `float32(LOWEST)`. And its local arrays must fit into
# registers: use them in loops of a fixed length only, as `range(GROUP)` is.
# ---------------------------------------------------------------------------------------------
GROUP = 2  # query heads to a KV head


def decode_group(query, key_cache, value_cache, block_tables, seq_lens, scale, output) -> None:
    """Launched with a grid of [rows, kv_heads] and 32 threads. Arguments as of `decode`; there are
    twice as many heads as KV heads."""
    # YOUR CODE for Exercise 6.3 begins here
    raise NotImplementedError("Exercise 6.3: Heads that share: not written yet")
    # YOUR CODE for Exercise 6.3 ends here


# ---------------------------------------------------------------------------------------------
# Exercise 6.4: A context in chunks
# 7 points, 35 minutes, difficulty 4 of 5
# lessons/06_a_paged_attention_kernel.ipynb, "Your turn: chunks"
#
# Three pieces. `plan_chunks`, an ordinary function, cuts every row into as few chunks as possible,
# none longer than `most` tokens. `plan_chunks([5, 2], 3)` may be
# `[(0, 0, 3), (0, 3, 5), (1, 0, 2)]`: row, begin and end of each.
#
# `decode_chunk` works on one chunk for one query head, with a grid of [chunks, heads];
# `merge_chunks` joins the chunks of a row, with a grid of [rows, heads]. Both have 32 threads, a
# lane to an element. They get the work list as an array, `chunks`, int32 [chunks, 3], in the order
# of the rows. `plan_chunks` makes no empty chunks, begin == end, but a caller may add some to its
# list: a CUDA graph needs a grid of one size. They stand before, between or after the other chunks
# of their row, and `begin` may be any number from 0 to the length of the row.
#
# What `decode_chunk` writes is not divided yet: `part_output`, [chunks, heads, 32], is the sum of
# weight * v; `part_highest` and `part_total`, [chunks, heads], are the highest score of the chunk
# and the sum of the weights exp(score - part_highest). `merge_chunks` needs both. One lane writes
# these two: 32 lanes that write one number are a race. For an empty chunk write a maximum below
# every score, and zeros. The rest is as in exercise 6.2: any size of a KV block, any number of
# query heads to a KV head, and each sector of K and V read once in a thread block.
# ---------------------------------------------------------------------------------------------
def plan_chunks(seq_lens: list[int], most: int) -> list[tuple[int, int, int]]:
    """The work list: (row, begin, end) of every chunk, in the order of the rows and tokens.

    seq_lens: tokens of each row, 1 or more; do not change this list. most: tokens of a chunk at
    most.
    plan_chunks([5, 2], 3) may be [(0, 0, 3), (0, 3, 5), (1, 0, 2)], a new list in each call.
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

    chunks: int32 [chunks, 3], row, begin, end. Out go part_output [chunks, heads, 32], part_highest
    and part_total [chunks, heads]. The rest as of `decode`.
    """
    # YOUR CODE for Exercise 6.4 begins here
    raise NotImplementedError("Exercise 6.4: A context in chunks: not written yet")
    # YOUR CODE for Exercise 6.4 ends here


def merge_chunks(part_output, part_highest, part_total, chunks, output) -> None:
    """`merge_chunks` reads what `decode_chunk` wrote, and writes output, [rows, heads, 32]."""
    # YOUR CODE for Exercise 6.4 begins here
    raise NotImplementedError("Exercise 6.4: A context in chunks: not written yet")
    # YOUR CODE for Exercise 6.4 ends here
