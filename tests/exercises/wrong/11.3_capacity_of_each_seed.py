"""The mean of each seed's own capacity.

caught by: test_noise_does_not_decide
code: not_the_mean_of_the_seeds
"""


def capacity(attainment, low, high, target, most_runs):
    found = []
    for seed in range(20):
        a, b = low, high
        for _ in range(most_runs // 20):
            middle = (a * b) ** 0.5
            if attainment(middle, [seed])[0] >= target:
                a = middle
            else:
                b = middle
        found.append(0.0 if a == low else high if b == high else a)
    return sum(found) / 20
