"""The list is made, and stays there.

caught by: test_what_is_known_is_found_in_order
code: list_is_nothing
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    found = []
    for name in names[: (num_tokens - 1) // block_size]:
        if name not in block_of:
            break
        found.append(block_of[name])
    return None
