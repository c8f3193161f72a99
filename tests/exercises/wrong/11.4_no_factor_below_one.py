"""No factor below 1: takes a slower run for no change.

caught by: test_each_factor_is_a_ratio_of_two_runs
code: no_factor_below_one
"""


def take_apart(throughput, order):
    on, before, sizes = [], throughput[()], []
    for name in order:
        on.append(name)
        after = throughput[tuple(sorted(on))]
        sizes.append(max(1.0, after / before))
        before = after
    return sizes
