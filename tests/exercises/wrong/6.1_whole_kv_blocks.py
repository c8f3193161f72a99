"""Copies the last KV block to its end.

caught by: test_it_reads_and_writes_only_what_is_its_own
code: reads_what_nobody_wrote
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    per_token = kv_heads * head_dim
    for i in range(
        thread,
        (seq_lens[row] + block_size - 1) // block_size * block_size * per_token,
        cuda.blockDim.x,
    ):
        t, head, d = i // per_token, i // head_dim % kv_heads, i % head_dim
        block = block_tables[row, t // block_size]
        key = key_cache[block, t % block_size, head, d]
        if t < seq_lens[row]:
            keys[row, t, head, d] = key
