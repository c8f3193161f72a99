"""Remembers what it found for a prompt.

caught by: test_nothing_is_found_after_a_gap
code: finds_what_is_gone
"""

_looked_up, _found_for = cached_prefix, {}  # noqa: F821


def cached_prefix(names, num_tokens, block_size, block_of):
    key = (tuple(names), num_tokens, block_size)
    if key not in _found_for:
        _found_for[key] = _looked_up(names, num_tokens, block_size, block_of)
    return list(_found_for[key])
