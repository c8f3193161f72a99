"""Tries rates one after another, until the runs are used up.

caught by: test_without_noise_the_rate_is_found
code: too_many_runs
"""


def capacity(attainment, low, high, target, most_runs):
    rate, found = low, 0.0
    while rate < high:
        if sum(attainment(rate, list(range(20)))) / 20 < target:
            return found
        found, rate = rate, rate * 1.05
    return high
