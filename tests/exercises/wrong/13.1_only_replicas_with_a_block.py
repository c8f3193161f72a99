"""Leaves out replicas without the first block.

caught by: test_a_cached_beginning_has_no_hole
code: other_replicas
"""


def uncached_tokens(num_tokens, chain, cached, block_size):
    found = {}
    for i, block in enumerate(chain[: (num_tokens - 1) // block_size]):
        for replica, hashes in cached.items():
            if block in hashes and found.get(replica, num_tokens) == num_tokens - i * block_size:
                found[replica] = num_tokens - (i + 1) * block_size
    return found
