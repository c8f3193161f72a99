"""Switches each one on last in a whole order, which needs runs in the middle.

caught by: test_a_factor_has_another_size_at_the_other_end
code: wants_runs_in_the_middle
"""


def first_and_last(throughput):
    names = max(throughput, key=len)
    found = {}
    for name in names:
        order = [other for other in names if other != name] + [name]
        rates = [throughput[tuple(sorted(order[:n]))] for n in range(len(order) + 1)]
        found[name] = (throughput[(name,)] / rates[0], rates[-1] / rates[-2])
    return found
