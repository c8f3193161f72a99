"""Two elements of head_dim to a thread, of which there may be more.

caught by: test_every_key_is_copied_to_its_place
code: first_elements_only
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, head_dim = key_cache.shape[1], key_cache.shape[3]
    for t in range(seq_lens[row]):
        block, offset = block_tables[row, t // block_size], t % block_size
        for head in range(key_cache.shape[2]):
            if thread < head_dim:
                keys[row, t, head, thread] = key_cache[block, offset, head, thread]
            if thread + 64 < head_dim:
                keys[row, t, head, thread + 64] = key_cache[block, offset, head, thread + 64]
