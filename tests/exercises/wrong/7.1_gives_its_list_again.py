"""Remembers its _names_of, and gives the same list to each caller.

caught by: test_prompts_with_the_same_beginning_have_the_same_names_there
code: answers_share_a_list
"""

_named, _names_of = block_hashes, {}  # noqa: F821


def block_hashes(token_ids, block_size, salt=None):
    key = (tuple(token_ids), block_size, salt)
    if key not in _names_of:
        _names_of[key] = _named(token_ids, block_size, salt)
    return _names_of[key]
