"""Writes zeros beyond the end of each row.

caught by: test_it_reads_and_writes_only_what_is_its_own
code: writes_beyond_the_row
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    size = kv_heads * head_dim
    for i in range(thread, keys.shape[1] * size, 64):
        t, head, d = i // size, i % size // head_dim, i % head_dim
        if t < seq_lens[row]:
            block = block_tables[row, t // block_size]
            keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
        else:
            keys[row, t, head, d] = float32(0)
