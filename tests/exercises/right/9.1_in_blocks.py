"""Counts blocks of 16; of equals the first."""


def whom_to_preempt(running):
    blocks = [-(-computed // 16) for computed, _, _ in running]
    return blocks.index(min(blocks))
