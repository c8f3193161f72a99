"""Divides by the longest queue.

caught by: test_one_of_the_given_replicas_is_chosen
code: raises_zero_division_error
"""


def choose(request, views):
    longest = max(v.num_waiting for v in views)
    return min(views, key=lambda v: v.num_waiting / longest - v.cached_tokens(request)).replica
