"""Each of the two warps copies half of a row's numbers: the halves may meet within a sector.

caught by: test_no_sector_is_read_twice
code: keys_read_again
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, warp, lane = cuda.blockIdx.x, cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    numbers = seq_lens[row] * kv_heads * head_dim
    begin, end = warp * (numbers // 2), numbers if warp else numbers // 2
    for i in range(begin + lane, end, 32):
        d, head, t = i % head_dim, i // head_dim % kv_heads, i // (kv_heads * head_dim)
        block = block_tables[row, t // block_size]
        keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
