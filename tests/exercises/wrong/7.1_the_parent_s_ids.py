"""The ids of the block before, instead of its name.

caught by: test_equal_blocks_after_different_tokens_have_different_names
code: name_of_two_pasts
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    names = []
    for end in range(block_size, len(token_ids) + 1, block_size):
        ids = list(token_ids[max(0, end - 2 * block_size) : end])
        names.append(hashlib.sha256(f"{salt!r}{ids}".encode()).hexdigest())
    return names
