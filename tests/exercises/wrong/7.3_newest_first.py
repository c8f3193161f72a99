"""Most recently given back first.

caught by: test_who_was_given_back_longest_ago_goes_first
code: evicts_by_when_taken
"""


def evict(blocks, n):
    free = [block for block in blocks if block[2] == 0]
    if n > len(free):
        raise MemoryError(f"{n} asked, {len(free)} free")
    order = sorted(free, key=lambda block: (-block[4], -block[1], block[0]))
    return [block[0] for block in order[:n]]
