"""Takes the blocks out of the chain.

caught by: test_a_cached_beginning_has_no_hole
code: changes_the_callers_list
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = dict.fromkeys(cached, num_tokens)
    if num_tokens % block_size == 0:
        chain.pop()
    for block in chain:
        for replica, hashes in cached.items():
            if block in hashes and found[replica] == num_tokens - block_size * chain.index(block):
                found[replica] -= block_size
    return found
