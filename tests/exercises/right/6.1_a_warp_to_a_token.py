"""Each warp copies every second token."""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, warp, lane = cuda.blockIdx.x, cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    block_size = key_cache.shape[1]
    for t in range(warp, seq_lens[row], 2):
        block = block_tables[row, t // block_size]
        for head in range(key_cache.shape[2]):
            for d in range(lane, key_cache.shape[3], 32):
                keys[row, t, head, d] = key_cache[block, t % block_size, head, d]
