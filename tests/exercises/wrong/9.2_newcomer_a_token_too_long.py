"""Counts the newcomer one token too long.

caught by: test_a_request_alone_is_always_admitted
code: newcomer_a_token_too_long
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, (newcomer[0] + 1, newcomer[1] + 1)]
    for t in range(max(m - n for n, m in everyone) + 1):
        need = sum(-(-(n + t) // block_size) for n, m in everyone if n + t <= m)
        if need > num_blocks:
            return False
    return True
