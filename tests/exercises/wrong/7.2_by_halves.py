"""Looks for the first unknown block by halves, as if none were known behind it.

caught by: test_nothing_is_found_after_a_gap
code: finds_behind_a_gap
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    low, high = 0, (num_tokens - 1) // block_size
    if not names or names[0] not in block_of:
        return []
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if names[middle] in block_of else (low, middle)
    return [block_of[name] for name in names[:low] if name in block_of]
