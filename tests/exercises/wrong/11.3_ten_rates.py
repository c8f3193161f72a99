"""Ten rates over the whole range.

caught by: test_without_noise_the_rate_is_found
code: too_coarse
"""


def capacity(attainment, low, high, target, most_runs):
    found = 0.0
    for i in range(10):
        rate = low + (high - low) * i / 9
        if sum(attainment(rate, list(range(20)))) / 20 >= target:
            found = rate
    return found
