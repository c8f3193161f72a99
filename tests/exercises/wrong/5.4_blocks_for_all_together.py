"""Rounds the sum of all requests up to blocks.

caught by: test_blocks_are_rounded_up_once
code: rounds_all_together
"""

_how_many = how_many_fit  # noqa: F821


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
    if allocator == "paged":  # the capacity is in whole blocks, so this is the sum of the tokens
        return _how_many("told", requests, capacity, max_model_len, block_size)
    return _how_many(allocator, requests, capacity, max_model_len, block_size)
