"""As if every name were known.

caught by: test_known_blocks_are_found_in_order
code: raises_key_error
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    return [block_of[name] for name in names[: (num_tokens - 1) // block_size]]
