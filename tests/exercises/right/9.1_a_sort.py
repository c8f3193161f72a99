"""Sorts a copy, and looks for the place."""


def whom_to_preempt(running):
    order = sorted(enumerate(running), key=lambda one: (one[1][0], -one[0]))
    return order[0][0]
