"""Puts the caller's list in order.

caught by: test_of_one_table_the_tail_goes_before_the_trunk
says: the caller's
"""


def evict(blocks, n):
    blocks.sort(key=lambda block: (block[4], -block[1], block[0]))
    free = [block[0] for block in blocks if block[2] == 0]
    if n > len(free):
        raise MemoryError(f"{n} asked, {len(free)} free")
    return free[:n]
