"""The trunk goes before its tail.

caught by: test_of_one_table_the_tail_goes_before_the_trunk
code: evicts_the_trunk_first
"""


def evict(blocks, n):
    free = [block for block in blocks if block[2] == 0]
    if n > len(free):
        raise MemoryError(f"{n} asked, {len(free)} free")
    order = sorted(free, key=lambda block: (block[4], block[1], block[0]))
    return [block[0] for block in order[:n]]
