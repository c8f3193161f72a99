"""Whatever is cached of all, one token is left.

caught by: test_a_cached_beginning_has_no_hole
code: other_number_of_tokens
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for r, hashes in cached.items():
        n = 0
        while n < len(chain) and chain[n] in hashes:
            n += 1
        found[r] = 1 if n == len(chain) and n else num_tokens - block_size * n
    return found
