"""Cached tokens, minus 100 for each request that waits.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: stays_with_the_hot_replica
"""


def choose(request, views):
    return max(
        views, key=lambda v: v.cached_tokens(request) - 100 * (v.num_waiting + v.num_sent)
    ).replica
