"""With takewhile, and the last block put back."""

from itertools import takewhile


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for replica in cached:
        num = sum(1 for _ in takewhile(cached[replica].__contains__, chain))
        left = num_tokens - num * block_size
        found[replica] = left or block_size
    return found
