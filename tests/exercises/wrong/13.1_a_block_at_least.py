"""At least a whole block is computed.

caught by: test_a_cached_beginning_has_no_hole
code: a_block_at_least
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for r, hashes in cached.items():
        n = 0
        while n < len(chain) and chain[n] in hashes:
            n += 1
        found[r] = max(min(block_size, num_tokens), num_tokens - block_size * n)
    return found
