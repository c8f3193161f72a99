"""Adds the last block if the prompt ends with it.

caught by: test_the_last_token_is_always_computed
code: a_block_more_for_all
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for r, hashes in cached.items():
        n = 0
        while n < len(chain) and chain[n] in hashes:
            n += 1
        found[r] = num_tokens - block_size * n + (block_size if num_tokens % block_size == 0 else 0)
    return found
