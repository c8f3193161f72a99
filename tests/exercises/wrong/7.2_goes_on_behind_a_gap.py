"""Everything that is known, gaps or not.

caught by: test_nothing_is_found_behind_a_gap
code: finds_behind_a_gap
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    found = []
    for name in names[: (num_tokens - 1) // block_size]:
        if name not in block_of:
            continue
        found.append(block_of[name])
    return found
