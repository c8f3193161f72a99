"""Each warp takes every second token: a KV block begins with one of warp 0 if its size is even.

caught by: test_every_key_is_copied_to_its_place
code: kv_blocks_of_another_size
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, warp, lane = cuda.blockIdx.x, cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    block_size, heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    block = block_tables[row, 0]
    for t in range(warp, seq_lens[row], 2):
        if t % block_size == warp:
            block = block_tables[row, t // block_size]
        for i in range(lane, heads * head_dim, 32):
            head, d = i // head_dim, i % head_dim
            keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
