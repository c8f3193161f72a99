"""Where the fewest KV blocks are held, of those with the prefix.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: stays_with_the_hot_replica
"""


def choose(request, views):
    longest = max(v.cached_tokens(request) for v in views)
    tied = [v for v in views if v.cached_tokens(request) == longest]
    return min(tied, key=lambda v: v.kv_use).replica
