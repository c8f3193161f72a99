"""Takes the best again and again."""


def evict(blocks, n):
    left, gone = {block for block in blocks if block[2] == 0}, []
    while len(gone) < n:
        if not left:
            raise MemoryError("too few")
        best = min(left, key=lambda block: (block[4], -block[1], block[0]))
        left.remove(best)
        gone.append(best[0])
    return tuple(gone)
