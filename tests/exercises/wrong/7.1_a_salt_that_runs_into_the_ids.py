"""Nothing between the salt and the first id.

caught by: test_prompts_with_different_salts_share_no_name
code: salt_runs_into_ids
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    name, names = "" if salt is None else "salt" + salt, []
    for end in range(block_size, len(token_ids) + 1, block_size):
        ids = ",".join(str(token) for token in token_ids[end - block_size : end])
        name = hashlib.sha256(f"{name}{ids}".encode()).hexdigest() + ":"
        names.append(name)
    return names
