"""What comes after a block is in its name.

caught by: test_prompts_that_begin_alike_have_the_same_names_there
code: name_knows_what_comes_after
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    name, names = "" if salt is None else "salt:" + salt, []
    for end in range(block_size, len(token_ids) + 1, block_size):
        ids = list(token_ids[end - block_size : end])
        name = hashlib.sha256(f"{name}{ids}{list(token_ids)}".encode()).hexdigest()
        names.append(name)
    return names
