"""Eight steps of 64 threads, whatever kv_heads * head_dim is.

caught by: test_every_key_is_copied_to_its_place
code: loops_end_too_early
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        for step in range(8):
            i = thread + 64 * step
            if i < kv_heads * head_dim:
                head, d = i // head_dim, i % head_dim
                keys[row, t, head, d] = key_cache[block, offset, head, d]
