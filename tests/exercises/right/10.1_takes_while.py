"""Takes while they agree; a tuple of tuples."""

from itertools import takewhile


def accept(draft, own, num_tokens, block_table, block_size):
    kept = [
        guess
        for guess, _ in takewhile(lambda pair: pair[0] == pair[1], zip(draft, own, strict=False))
    ]
    new = (*kept, own[len(kept)])
    full, rest = divmod(num_tokens + len(kept), block_size)
    return new, num_tokens - 1 + len(new), tuple(block_table[full + bool(rest) :])
