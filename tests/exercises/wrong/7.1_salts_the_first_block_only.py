"""The salt in the first block's name, and no chain from there.

caught by: test_prompts_with_different_salts_share_no_name
code: salt_is_ignored
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    names = []
    for end in range(block_size, len(token_ids) + 1, block_size):
        own = salt if end == block_size else None
        ids = list(token_ids[:end])
        names.append(hashlib.sha256(f"{own!r}{ids}".encode()).hexdigest())
    return names
