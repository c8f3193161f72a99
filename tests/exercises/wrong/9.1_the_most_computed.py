"""Makes the most room at once.

caught by: test_of_the_five_little_is_computed_again
says: It frees the most, and only a block was missing
"""


def whom_to_preempt(running):
    return max(range(len(running)), key=lambda i: running[i][0])
