"""Walks over the table, and deals out each KV block."""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, block_size = cuda.blockIdx.x, key_cache.shape[1]
    per_token, head_dim = key_cache.shape[2] * key_cache.shape[3], key_cache.shape[3]
    start = 0
    while start < seq_lens[row]:
        block = block_tables[row, start // block_size]
        length = min(block_size, seq_lens[row] - start)
        i = cuda.threadIdx.x
        while i < length * per_token:
            offset, head, d = i // per_token, i % per_token // head_dim, i % head_dim
            keys[row, start + offset, head, d] = key_cache[block, offset, head, d]
            i += cuda.blockDim.x
        start += block_size
