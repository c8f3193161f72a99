"""Writes zeros to the end of the last KV block.

caught by: test_it_reads_and_writes_only_what_is_its_own
code: writes_beyond_the_row
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    size, length = kv_heads * head_dim, seq_lens[row]
    last = min(keys.shape[1], (length + block_size - 1) // block_size * block_size)
    for i in range(thread, last * size, 64):
        t, head, d = i // size, i % size // head_dim, i % head_dim
        key = float32(0)
        if t < length:
            key = key_cache[block_tables[row, t // block_size], t % block_size, head, d]
        keys[row, t, head, d] = key
