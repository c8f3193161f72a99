"""Asks whether there is a token after the copy of each: a row has one token or more."""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    block_size, head_dim = key_cache.shape[1], key_cache.shape[3]
    t = 0
    while True:
        block = block_tables[row, t // block_size]
        for i in range(thread, key_cache.shape[2] * head_dim, 64):
            head, d = i // head_dim, i % head_dim
            keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
        t += 1
        if t >= seq_lens[row]:
            break
