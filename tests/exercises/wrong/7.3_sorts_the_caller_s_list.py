"""Puts the caller's list in order.

caught by: test_the_block_released_longest_ago_is_evicted_first
code: changes_the_callers_list
"""


def evict(blocks, n):
    blocks.sort(key=lambda block: (block[4], -block[1], block[0]))
    free = [block[0] for block in blocks if block[2] == 0]
    if n > len(free):
        raise MemoryError(f"{n} asked, {len(free)} free")
    return free[:n]
