"""Follows the last value every five minutes.

caught by: test_noise_does_not_make_it_flap
code: follows_the_noise
"""


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    have = ready + starting
    if last_change is not None and now - last_change < 300:
        return max(least, min(most, have))
    return max(least, min(most, -(-ongoing[-1] // target)))
