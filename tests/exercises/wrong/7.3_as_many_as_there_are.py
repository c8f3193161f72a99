"""No error where too few are free.

caught by: test_too_few_free_blocks_are_an_error
code: no_memory_error
"""


def evict(blocks, n):
    free = [block for block in blocks if block[2] == 0]
    order = sorted(free, key=lambda block: (block[4], -block[1], block[0]))
    return [block[0] for block in order[:n]]
