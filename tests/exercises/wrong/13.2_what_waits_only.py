"""Forgets its own prompt.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: leaves_the_cached_prefix
"""


def choose(request, views):
    return min(views, key=lambda v: v.num_uncached_tokens + v.num_sent_tokens).replica
