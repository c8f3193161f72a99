"""Never looks at what was sent since.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: hot_replica_since_the_report
"""


def choose(request, views):
    return min(views, key=lambda v: v.num_uncached_tokens + v.uncached_tokens(request)).replica
