"""What is left over has a name, too.

caught by: test_every_full_block_has_a_name_and_no_other
code: last_block_is_not_full
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    name, names = "" if salt is None else "salt:" + salt, []
    for end in range(block_size, len(token_ids) + block_size, block_size):
        ids = list(token_ids[end - block_size : end])
        name = hashlib.sha256(f"{name}{ids}".encode()).hexdigest()
        names.append(name)
    return names
