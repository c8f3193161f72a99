"""Sorts the two sizes.

caught by: test_a_factor_has_another_size_at_the_other_end
code: smallest_and_largest
"""


def first_and_last(throughput):
    names = max(throughput, key=len)
    found = {}
    for name in names:
        rest = tuple(other for other in names if other != name)
        first = throughput[(name,)] / throughput[()]
        last = throughput[names] / throughput[rest]
        found[name] = (min(first, last), max(first, last))
    return found
