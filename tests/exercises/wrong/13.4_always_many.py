"""Always holds thirty.

caught by: test_replicas_that_start_are_counted
code: other_total
"""


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    return max(least, min(most, 30))
