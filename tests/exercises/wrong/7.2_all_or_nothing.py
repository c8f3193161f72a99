"""A prompt is found as a whole or not at all.

caught by: test_nothing_is_found_after_a_gap
code: finds_behind_a_gap
"""


def cached_prefix(names, num_tokens, block_size, block_of):
    wanted = names[: (num_tokens - 1) // block_size]
    known = all(name in block_of for name in wanted)
    return [block_of[name] for name in wanted] if known else []
