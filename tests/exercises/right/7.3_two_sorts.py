"""Sorts that keep the order of equals, the last one by age."""


def evict(blocks, n):
    free = sorted(block for block in blocks if not block[2])
    if len(free) < n:
        raise MemoryError("too few")
    free.sort(key=lambda block: block[1], reverse=True)
    free.sort(key=lambda block: block[4])
    return [block[0] for block in free][:n]
