"""Weighs the prefix with a tenth.

caught by: test_hidden_traffic_waits_less_than_with_prefix_affinity
code: manuals_are_computed_again
"""


def choose(request, views):
    return min(
        views,
        key=lambda v: v.num_uncached_tokens + v.num_sent_tokens + v.uncached_tokens(request) / 10,
    ).replica
