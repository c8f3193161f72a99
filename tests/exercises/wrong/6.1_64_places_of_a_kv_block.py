"""Walks over KV blocks, and over at most 64 tokens of each.

caught by: test_every_key_is_copied_to_its_place
code: loops_end_too_early
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    for number in range((seq_lens[row] + block_size - 1) // block_size):
        block = block_tables[row, number]
        for offset in range(min(block_size, 64)):
            t = number * block_size + offset
            if t < seq_lens[row]:
                for i in range(thread, kv_heads * head_dim, 64):
                    head, d = i // head_dim, i % head_dim
                    keys[row, t, head, d] = key_cache[block, offset, head, d]
