"""Whoever came last.

caught by: test_of_the_five_little_is_computed_again
says: Yours takes who came last.
"""


def whom_to_preempt(running):
    return len(running) - 1
