"""Returns the best replica only.

caught by: test_a_cached_beginning_has_no_hole
code: other_replicas
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for r, hashes in cached.items():
        n = 0
        while n < len(chain) and chain[n] in hashes:
            n += 1
        found[r] = num_tokens - block_size * min(n, (num_tokens - 1) // block_size)
    best = min(found, key=found.get)
    return {best: found[best]}
