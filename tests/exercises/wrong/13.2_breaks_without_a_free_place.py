"""Looks at replicas with a free place only.

caught by: test_one_of_the_given_replicas_is_chosen
code: raises_value_error
"""


def choose(request, views):
    free = [v for v in views if v.num_running < v.max_running]
    return min(
        free, key=lambda v: v.num_uncached_tokens + v.num_sent_tokens + v.uncached_tokens(request)
    ).replica
