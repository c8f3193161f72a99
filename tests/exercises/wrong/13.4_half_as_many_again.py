"""Holds half as many again.

caught by: test_replicas_that_start_are_counted
code: other_total
"""


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    have, need = ready + starting, -(-3 * sum(ongoing) // (2 * len(ongoing) * target))
    if need > have or need < have - 4:
        have = need
    return max(least, min(most, have))
