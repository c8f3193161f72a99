"""Remembers the answer for a chain.

caught by: test_the_last_token_is_always_computed
code: keeps_something_between_calls
"""

KNOWN = {}


def uncached_tokens(num_tokens, chain, cached, block_size):
    key = num_tokens, tuple(chain), tuple(cached)
    if key not in KNOWN:
        found = KNOWN[key] = {}
        for r, hashes in cached.items():
            n = 0
            while n < (num_tokens - 1) // block_size and chain[n] in hashes:
                n += 1
            found[r] = num_tokens - block_size * n
    return KNOWN[key]
