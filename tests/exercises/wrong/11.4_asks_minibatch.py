"""Leaves it to minibatch: its factors of the 23 times, with these runs in place of its own.

caught by: test_each_factor_is_a_ratio_of_two_runs
code: part_is_withheld
"""


def take_apart(throughput, order):
    from minibatch.simulator import anyscale

    def seconds(system, *setting):
        return 1 / throughput[tuple(sorted(name for name in order if getattr(system, name)))]

    anyscale.seconds = seconds
    return list(anyscale.factors(tuple(order)).values())
