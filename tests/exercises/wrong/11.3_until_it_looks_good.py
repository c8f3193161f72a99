"""Stops adding seeds as soon as the mean meets the target.

caught by: test_noise_does_not_decide
code: not_the_mean_of_the_seeds
"""


def capacity(attainment, low, high, target, most_runs):
    def meets(rate):
        total = 0.0
        for seed in range(20):
            total += attainment(rate, [seed])[0]
            if seed >= 2 and total / (seed + 1) >= target:
                return True
        return False

    if not meets(low):
        return 0.0
    if meets(high):
        return high
    for _ in range(most_runs // 20 - 2):
        middle = (low * high) ** 0.5
        if meets(middle):
            low = middle
        else:
            high = middle
    return low
