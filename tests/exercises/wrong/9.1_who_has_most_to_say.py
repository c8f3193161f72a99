"""Whoever will need most.

caught by: test_of_the_five_little_is_computed_again
says: Yours takes who has most left to say
"""


def whom_to_preempt(running):
    return max(range(len(running)), key=lambda i: running[i][2])
