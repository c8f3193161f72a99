"""Reads side by side, and writes backwards through the token in strides.

caught by: test_no_sector_moves_twice
says: deal them out like cards
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    tokens = seq_lens[row]
    for i in range(thread, tokens * kv_heads * head_dim, 64):
        t, head, d = i % tokens, i // tokens % kv_heads, i // (tokens * kv_heads)
        block = block_tables[row, t // block_size]
        keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
