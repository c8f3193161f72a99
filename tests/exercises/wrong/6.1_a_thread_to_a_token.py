"""Each thread copies whole tokens.

caught by: test_no_sector_moves_twice
says: deal them out like cards
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    for t in range(thread, seq_lens[row], 64):
        block = block_tables[row, t // block_size]
        for head in range(kv_heads):
            for d in range(head_dim):
                keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
