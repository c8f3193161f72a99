"""Nobody asks who holds it.

caught by: test_what_somebody_holds_is_never_evicted
code: evicts_a_held_block
"""


def evict(blocks, n):
    free = [block for block in blocks if True]
    if n > len(free):
        raise MemoryError(f"{n} asked, {len(free)} free")
    order = sorted(free, key=lambda block: (block[4], -block[1], block[0]))
    return [block[0] for block in order[:n]]
