"""Nothing between the ids.

caught by: test_equal_blocks_behind_another_past_have_other_names
code: name_joins_ids
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    name, names = "" if salt is None else "salt:" + salt, []
    for end in range(block_size, len(token_ids) + 1, block_size):
        ids = "".join(str(token) for token in token_ids[end - block_size : end])
        name = hashlib.sha256(f"{name}-{ids}".encode()).hexdigest()
        names.append(name)
    return names
