"""Everybody finds everybody's.

caught by: test_prompts_with_different_salts_share_no_name
code: salt_is_ignored
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    name, names = "", []
    for end in range(block_size, len(token_ids) + 1, block_size):
        ids = list(token_ids[end - block_size : end])
        name = hashlib.sha256(f"{name}{ids}".encode()).hexdigest()
        names.append(name)
    return names
