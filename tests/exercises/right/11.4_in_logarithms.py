"""Differences of logarithms, and powers at the end."""

import math


def take_apart(throughput, order):
    if not order:
        return []
    *before, name = order
    gain = math.log(throughput[tuple(sorted(order))]) - math.log(throughput[tuple(sorted(before))])
    return [*take_apart(throughput, before), math.exp(gain)]


def first_and_last(throughput):
    alone = [on[0] for on in throughput if len(on) == 1]
    found = {}
    for name in alone:
        others = [other for other in alone if other != name]
        found[name] = take_apart(throughput, [name])[0], _last(throughput, others, name)
    return found


def _last(throughput, others, name):
    return throughput[tuple(sorted([*others, name]))] / throughput[tuple(sorted(others))]
