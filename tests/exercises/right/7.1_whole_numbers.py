"""Names that are whole numbers, each of all ids so far."""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    def name(ids):
        return int(hashlib.sha256(f"{salt!r}{list(ids)}".encode()).hexdigest()[:32], 16)

    num_full = len(token_ids) // block_size
    return tuple(name(token_ids[: block_size * n]) for n in range(1, num_full + 1))
