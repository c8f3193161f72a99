"""Looks at the first block of the prompt.

caught by: test_one_of_the_given_replicas_is_chosen
code: raises_index_error
"""


def choose(request, views):
    first = request.prefix_hashes[0]
    have = [v for v in views if first in v.cached] or views
    return min(have, key=lambda v: v.num_uncached_tokens + v.num_sent_tokens).replica
