"""Forgets that a prompt is computed, too.

caught by: test_of_the_five_little_is_computed_again
says: prompt's K and V are lost as well
"""


def whom_to_preempt(running):
    return min(range(len(running)), key=lambda i: running[i][1])
