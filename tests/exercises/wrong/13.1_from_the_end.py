"""Takes the last cached block of the chain.

caught by: test_a_cached_beginning_has_no_hole
code: up_to_the_last_cached_block
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    usable = (num_tokens - 1) // block_size
    found = {}
    for replica, hashes in cached.items():
        n = usable
        while n and chain[n - 1] not in hashes:
            n -= 1
        found[replica] = num_tokens - n * block_size
    return found
