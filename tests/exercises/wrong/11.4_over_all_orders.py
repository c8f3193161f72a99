"""The smallest and the largest of all orders, which needs every run.

caught by: test_a_factor_has_another_size_at_the_other_end
code: smallest_and_largest
"""

from itertools import permutations


def first_and_last(throughput):
    names = max(throughput, key=len)
    sizes = {name: [] for name in names}
    for order in permutations(names):
        for size, name in zip(take_apart(throughput, list(order)), order, strict=True):
            sizes[name].append(size)
    return {name: (min(found), max(found)) for name, found in sizes.items()}


def take_apart(throughput, order):
    found = []
    for i in range(len(order)):
        before, after = tuple(sorted(order[:i])), tuple(sorted(order[: i + 1]))
        found.append(throughput[after] / throughput[before])
    return found
