"""Whoever may go, goes.

caught by: test_what_somebody_holds_is_never_evicted
code: evicts_another_number
"""


def evict(blocks, n):
    free = [block for block in blocks if block[2] == 0]
    if n > len(free):
        raise MemoryError(f"{n} asked, {len(free)} free")
    order = sorted(free, key=lambda block: (block[4], -block[1], block[0]))
    return [block[0] for block in order]
