"""Follows the mean of ten minutes.

caught by: test_noise_does_not_make_it_flap
code: follows_the_noise
"""

import math


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    mean = sum(ongoing) / len(ongoing)
    return max(least, min(most, math.ceil(mean / target)))
