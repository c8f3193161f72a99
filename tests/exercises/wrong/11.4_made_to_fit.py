"""Takes each factor alone, and makes the product fit.

caught by: test_each_factor_is_a_ratio_of_two_runs
code: made_to_fit
"""

import math


def take_apart(throughput, order):
    alone = [throughput[(name,)] / throughput[()] for name in order]
    total = throughput[tuple(sorted(order))] / throughput[()]
    return [size ** (math.log(total) / math.log(math.prod(alone))) for size in alone]
