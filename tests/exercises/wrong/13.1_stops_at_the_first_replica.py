"""Goes on along the chain from replica to replica.

caught by: test_a_cached_beginning_has_no_hole
code: goes_on_from_replica_to_replica
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found, n = {}, 0
    for r, hashes in cached.items():
        while n < (num_tokens - 1) // block_size and chain[n] in hashes:
            n += 1
        found[r] = num_tokens - block_size * n
    return found
