"""Only thread 0 works.

caught by: test_no_sector_moves_twice
says: deal them out like cards
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    per_token = kv_heads * head_dim
    for i in range(seq_lens[row] * per_token if thread == 0 else 0):
        t, head, d = i // per_token, i // head_dim % kv_heads, i % head_dim
        block = block_tables[row, t // block_size]
        keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
