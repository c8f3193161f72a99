"""Makes 200 runs, whatever most_runs says.

caught by: test_the_ends_of_the_range_are_answers_too
code: ignores_most_runs
"""


def capacity(attainment, low, high, target, most_runs):
    def meets(rate):
        return sum(attainment(rate, list(range(20)))) / 20 >= target

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
