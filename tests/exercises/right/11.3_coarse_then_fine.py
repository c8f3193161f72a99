"""Eight seeds to find the place, then thirty for each of five rates."""

import math


def capacity(attainment, low, high, target, most_runs):
    def mean(rate, seeds):
        return sum(attainment(rate, seeds)) / len(seeds)

    if mean(low, range(8)) < target:
        return 0.0
    if mean(high, range(8)) >= target:
        return high
    for _ in range(4):
        middle = math.sqrt(low * high)
        if mean(middle, range(8)) >= target:
            low = middle
        else:
            high = middle
    low, high = 0.87 * low, 1.15 * high
    for _ in range(5):
        middle = (low + high) / 2
        if mean(middle, range(30)) >= target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
