"""Weighs the prefix ten times.

caught by: test_hidden_traffic_is_served_twice_as_soon_as_by_the_fewest_requests
code: takes_the_longest_prefix
"""


def choose(request, views):
    return min(
        views,
        key=lambda v: v.num_uncached_tokens + v.num_sent_tokens + 10 * v.uncached_tokens(request),
    ).replica
