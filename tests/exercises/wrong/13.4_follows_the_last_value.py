"""Follows the last value.

caught by: test_noise_does_not_make_it_flap
code: follows_the_noise
"""


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    return max(least, min(most, -(-ongoing[-1] // target)))
