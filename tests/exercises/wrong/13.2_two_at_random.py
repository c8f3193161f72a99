"""The better of two at random.

caught by: test_a_cached_prefix_is_worth_its_tokens
code: leaves_the_cached_prefix
"""

import random


def choose(request, views):
    pair = random.Random(request.session).sample(views, min(2, len(views)))
    return min(
        pair,
        key=lambda v: v.num_uncached_tokens + v.num_sent_tokens + v.uncached_tokens(request),
    ).replica
