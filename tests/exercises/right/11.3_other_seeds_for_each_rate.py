"""Seeds of its own for each rate, and halves the range in requests per second."""

import statistics


def capacity(attainment, low, high, target, most_runs):
    seeds = iter(range(1000, 1000 + most_runs))

    def mean(rate):
        return statistics.mean(attainment(rate, [next(seeds) for _ in range(20)]))

    if mean(low) < target:
        return 0.0
    if mean(high) >= target:
        return high
    for _ in range(most_runs // 20 - 2):
        middle = (low + high) / 2
        low, high = (middle, high) if mean(middle) >= target else (low, middle)
    return (low + high) / 2
