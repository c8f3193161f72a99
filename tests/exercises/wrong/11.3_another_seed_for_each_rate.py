"""One run for each rate, each with a seed of its own.

caught by: test_noise_does_not_decide
code: one_seed_for_a_rate
"""


def capacity(attainment, low, high, target, most_runs):
    if attainment(low, [0])[0] < target:
        return 0.0
    if attainment(high, [1])[0] >= target:
        return high
    for seed in range(2, 20):
        middle = (low * high) ** 0.5
        if attainment(middle, [seed])[0] >= target:
            low = middle
        else:
            high = middle
    return low
