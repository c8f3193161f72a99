"""A name wherever one stands.

caught by: test_every_full_block_has_a_name_and_no_other_block_has_one
code: tokens_are_named
"""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    ids = [str(token) for token in token_ids]
    return [
        hashlib.sha256(f"{salt!r}{ids[:n]}".encode()).hexdigest() for n in range(1, len(ids) + 1)
    ]
