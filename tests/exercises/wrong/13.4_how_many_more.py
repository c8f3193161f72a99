"""Returns how many more.

caught by: test_replicas_that_start_are_counted
code: more_for_the_total
"""


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    more = -(-max(ongoing) // target) - ready - starting
    return max(least, min(most, more))
