"""As if the last block were never full.

caught by: test_every_full_block_has_a_name_and_no_other
code: last_full_block_has_no_name
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    name, names = "" if salt is None else "salt:" + salt, []
    for end in range(block_size, len(token_ids), block_size):
        ids = list(token_ids[end - block_size : end])
        name = hashlib.sha256(f"{name}{ids}".encode()).hexdigest()
        names.append(name)
    return names
