"""Whoever has said most has had her share.

caught by: test_of_the_five_little_is_computed_again
says: Yours takes whose answer is longest so far
"""


def whom_to_preempt(running):
    return max(range(len(running)), key=lambda i: running[i][1])
