"""A name that is drawn.

caught by: test_prompts_with_the_same_beginning_have_the_same_names_there
code: name_knows_what_comes_after
"""

import secrets


def block_hashes(token_ids, block_size, salt=None):
    names = []
    for _ in range(block_size, len(token_ids) + 1, block_size):
        names.append(secrets.token_hex(16))
    return names
