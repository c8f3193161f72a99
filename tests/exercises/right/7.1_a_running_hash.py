"""One hash object that goes on, and is asked on the way."""

import hashlib


def block_hashes(token_ids, block_size, salt=None):
    running, names = hashlib.blake2b(repr(salt).encode()), []
    for end in range(block_size, len(token_ids) + 1, block_size):
        for token in token_ids[end - block_size : end]:
            running.update(int(token).to_bytes(8, "little"))
        names.append(running.copy().hexdigest())
    return names
