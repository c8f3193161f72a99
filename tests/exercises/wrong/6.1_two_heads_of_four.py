"""Threads 0 to 31 copy the first KV head, and the others the second.

caught by: test_every_key_is_copied_to_its_place
code: wrong_output
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, head = key_cache.shape[1], thread // 32
    if head < key_cache.shape[2]:
        for t in range(seq_lens[row]):
            block = block_tables[row, t // block_size]
            for d in range(thread % 32, key_cache.shape[3], 32):
                keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
