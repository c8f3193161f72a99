"""Whoever came first.

caught by: test_of_the_five_little_is_computed_again
says: Yours takes who came first
"""


def whom_to_preempt(running):
    return 0
