"""The names, not the blocks.

caught by: test_what_is_known_is_found_in_order
code: names_not_ids
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    found = []
    for name in names[: (num_tokens - 1) // block_size]:
        if name not in block_of:
            break
        found.append(name)
    return found
