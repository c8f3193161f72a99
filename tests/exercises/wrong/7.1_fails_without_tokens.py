"""Fails where there is no token.

caught by: test_every_full_block_has_a_name_and_no_other_block_has_one
code: raises_index_error
"""


def block_hashes(token_ids, block_size, salt=None):
    name, names = (salt, token_ids[0] * 0), []
    for i in range(len(token_ids) // block_size):
        name = (name, *token_ids[i * block_size : (i + 1) * block_size])
        names.append(repr(name))
    return names
