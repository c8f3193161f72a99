"""Lets them run, in thought."""


def may_begin(newcomer, running, num_blocks, block_size):
    left = [list(one) for one in (*running, newcomer)]
    while left:
        if sum((n + block_size - 1) // block_size for n, _ in left) > num_blocks:
            return False
        left = [[n + 1, most] for n, most in left if n < most]
    return True
