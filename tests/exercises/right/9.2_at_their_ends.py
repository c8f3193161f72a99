"""Looks only where somebody ends: needs are highest just there."""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    for end in {most - n for n, most in everyone}:
        there = [n + end for n, most in everyone if most - n >= end]
        if sum(-(-tokens // block_size) for tokens in there) > num_blocks:
            return 0
    return 1
