"""Keeps the row's block table in shared memory, where 1,024 KV blocks have room.

caught by: test_it_reads_and_writes_only_what_is_its_own
code: access_out_of_bounds
"""

from numba import int32


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    table = cuda.shared.array(1024, int32)
    for i in range(thread, (seq_lens[row] + block_size - 1) // block_size, 64):
        table[i] = block_tables[row, i]
    cuda.syncthreads()
    for i in range(thread, seq_lens[row] * kv_heads * head_dim, 64):
        d, head, t = i % head_dim, i // head_dim % kv_heads, i // (kv_heads * head_dim)
        keys[row, t, head, d] = key_cache[table[t // block_size], t % block_size, head, d]
