"""Walks over all runs, also those not on the way.

caught by: test_four_runs_are_enough
code: wants_other_runs
"""

from itertools import combinations


def take_apart(throughput, order):
    runs = {
        frozenset(on): throughput[on]
        for count in range(len(order) + 1)
        for on in combinations(sorted(order), count)
    }
    return [runs[frozenset(order[: i + 1])] / runs[frozenset(order[:i])] for i in range(len(order))]
