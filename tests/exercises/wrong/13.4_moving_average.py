"""Follows an exponential average.

caught by: test_noise_does_not_make_it_flap
code: follows_the_noise
"""

import math


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    average = ongoing[0]
    for value in ongoing:
        average += 0.2 * (value - average)
    return max(least, min(most, math.ceil(average / target)))
