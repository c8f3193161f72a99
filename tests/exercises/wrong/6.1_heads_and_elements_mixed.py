"""Takes the head for the element.

caught by: test_every_key_comes_to_its_place
says: it should be
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    per_token = kv_heads * head_dim
    for i in range(thread, seq_lens[row] * per_token, cuda.blockDim.x):
        t, head, d = i // per_token, i % kv_heads, i // kv_heads % head_dim
        block = block_tables[row, t // block_size]
        keys[row, t, i // head_dim % kv_heads, i % head_dim] = key_cache[
            block, t % block_size, head, d
        ]
