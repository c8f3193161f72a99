"""A thread to an element of head_dim, of which there may be more than threads.

caught by: test_every_key_is_copied_to_its_place
code: first_elements_only
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, d = cuda.blockIdx.x, cuda.threadIdx.x
    block_size = key_cache.shape[1]
    if d < key_cache.shape[3]:
        for t in range(seq_lens[row]):
            block = block_tables[row, t // block_size]
            for head in range(key_cache.shape[2]):
                keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
