"""Takes a mean of exactly the target for a miss.

caught by: test_the_ends_of_the_range_are_answers_too
code: exact_target_is_a_miss
"""


def capacity(attainment, low, high, target, most_runs):
    each = most_runs // 10

    def meets(rate):
        return sum(attainment(rate, list(range(each)))) / each > target

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
