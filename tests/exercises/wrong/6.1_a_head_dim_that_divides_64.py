"""Right where head_dim divides 64, the number of threads.

caught by: test_it_reads_and_writes_only_what_is_its_own
code: heads_do_not_fill_the_threads
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, kv_heads, head_dim = key_cache.shape[1], key_cache.shape[2], key_cache.shape[3]
    for t in range(seq_lens[row]):
        block = block_tables[row, t // block_size]
        for head in range(thread // head_dim, kv_heads, max(1, 64 // head_dim)):
            for d in range(thread % head_dim, head_dim, 64):
                keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
