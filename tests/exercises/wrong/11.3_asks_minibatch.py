"""Leaves the search to minibatch.

caught by: test_without_noise_the_rate_is_found
code: part_is_withheld
"""


def capacity(attainment, low, high, target, most_runs):
    from minibatch.simulator.capacity import bisection

    def meets(rate):
        return sum(attainment(rate, list(range(10)))) / 10 >= target

    if not meets(low):
        return 0.0
    return high if meets(high) else bisection(meets, (low * high) ** 0.5, 2.0, 0.02, None)
