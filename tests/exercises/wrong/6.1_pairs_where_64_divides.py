"""Where 64 divides head_dim, each lane copies two neighbouring numbers, in two instructions.

caught by: test_no_sector_is_read_twice
code: keys_read_again
"""


def copy_keys(key_cache, block_tables, seq_lens, keys):
    row, warp, lane = cuda.blockIdx.x, cuda.threadIdx.x // 32, cuda.threadIdx.x % 32
    block_size, head_dim = key_cache.shape[1], key_cache.shape[3]
    width = 2 if head_dim % 64 == 0 else 1
    for t in range(warp, seq_lens[row], 2):
        block, offset = block_tables[row, t // block_size], t % block_size
        for head in range(key_cache.shape[2]):
            for first in range(width * lane, head_dim, width * 32):
                for d in range(first, first + width):
                    keys[row, t, head, d] = key_cache[block, offset, head, d]
