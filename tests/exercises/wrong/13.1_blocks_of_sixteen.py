"""Blocks have 16 tokens.

caught by: test_a_cached_beginning_has_no_hole
code: block_size_of_its_own
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for r, hashes in cached.items():
        n = 0
        while n < (num_tokens - 1) // 16 and n < len(chain) and chain[n] in hashes:
            n += 1
        found[r] = num_tokens - 16 * n
    return found
