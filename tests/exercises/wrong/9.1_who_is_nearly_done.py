"""Whoever has least left to say.

caught by: test_of_the_five_little_is_computed_again
says: she would soon have left by herself
"""


def whom_to_preempt(running):
    return min(range(len(running)), key=lambda i: running[i][2])
