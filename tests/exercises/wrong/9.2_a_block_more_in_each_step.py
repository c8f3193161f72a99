"""Takes one block more in each step where tokens fill their blocks exactly.

caught by: test_a_request_alone_is_always_admitted
code: one_block_more_in_each_step
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    for t in range(max(m - n for n, m in everyone) + 1):
        need = sum((n + t) // block_size + 1 for n, m in everyone if n + t <= m)
        if need > num_blocks:
            return False
    return True
