"""Adds one token for the last one.

caught by: test_a_cached_beginning_has_no_hole
code: one_token_besides
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for r, hashes in cached.items():
        n = 0
        while n < len(chain) and chain[n] in hashes:
            n += 1
        found[r] = num_tokens - block_size * n + 1
    return found
