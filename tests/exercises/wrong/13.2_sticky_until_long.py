"""Stays with the prefix until 30,000 tokens wait.

caught by: test_hidden_traffic_waits_half_as_long_as_with_the_fewest_requests
code: takes_the_longest_prefix
"""


def choose(request, views):
    home = max(views, key=lambda v: v.cached_tokens(request))
    least = min(views, key=lambda v: v.num_uncached_tokens + v.num_sent_tokens)
    mine = home.num_uncached_tokens + home.num_sent_tokens
    others = least.num_uncached_tokens + least.num_sent_tokens
    if home.cached_tokens(request) and mine < others + 30_000:
        return home.replica
    return least.replica
