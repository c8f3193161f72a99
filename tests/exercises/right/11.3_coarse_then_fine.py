"""Few seeds to find the place, then nearly four times as many for each of five rates."""

import math


def capacity(attainment, low, high, target, most_runs):
    few, many = range(most_runs // 25), range(3 * most_runs // 20)  # of 200 runs: 8 and 30

    def mean(rate, seeds):
        return sum(attainment(rate, seeds)) / len(seeds)

    if mean(low, few) < target:
        return 0.0
    if mean(high, few) >= target:
        return high
    for _ in range(4):
        middle = math.sqrt(low * high)
        if mean(middle, few) >= target:
            low = middle
        else:
            high = middle
    low, high = 0.87 * low, 1.15 * high
    for _ in range(5):
        middle = (low + high) / 2
        if mean(middle, many) >= target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
