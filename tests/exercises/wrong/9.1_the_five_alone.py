"""Knows a crowd of five, and guesses in others.

caught by: test_of_four_crowds_little_is_computed_again
says: In four crowds of forty
"""


def whom_to_preempt(running):
    return min(range(len(running)), key=lambda i: running[i][0]) if len(running) < 6 else 0
