"""Keeps the means of each rate from call to call.

caught by: test_without_noise_the_rate_is_found
code: remembers_another_system
"""

_MEANS = {}


def capacity(attainment, low, high, target, most_runs):
    each = most_runs // 10

    def meets(rate):
        if rate not in _MEANS:
            _MEANS[rate] = sum(attainment(rate, list(range(each)))) / each
        return _MEANS[rate] >= target

    if not meets(low):
        return 0.0
    if meets(high):
        return high
    a, b = low, high
    for _ in range(8):
        mid = (a * b) ** 0.5
        if meets(mid):
            a = mid
        else:
            b = mid
    return (a * b) ** 0.5
