"""Weighs what is lost against what she would need next."""


def whom_to_preempt(running):
    costs = [computed - left / 4 for computed, _, left in running]
    return costs.index(min(costs))
