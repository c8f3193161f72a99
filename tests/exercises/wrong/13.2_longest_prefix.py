"""The longest cached prefix, whatever the load.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: stays_with_the_hot_replica
"""


def choose(request, views):
    return max(
        views, key=lambda v: (v.cached_tokens(request), -v.num_requests - v.num_sent)
    ).replica
