"""Weighs the prefix ten times.

caught by: test_hidden_traffic_waits_half_as_long_as_with_the_fewest_requests
code: takes_the_longest_prefix
"""


def choose(request, views):
    return min(
        views,
        key=lambda v: v.num_uncached_tokens + v.num_sent_tokens + 10 * v.uncached_tokens(request),
    ).replica
