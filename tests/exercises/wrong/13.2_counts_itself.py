"""Keeps its own count of tokens sent, and never forgets it.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: keeps_something_between_calls
"""

from collections import Counter

SENT = Counter()


def choose(request, views):
    best = min(
        views, key=lambda v: v.num_uncached_tokens + SENT[v.replica] + v.uncached_tokens(request)
    )
    SENT[best.replica] += best.uncached_tokens(request)
    return best.replica
