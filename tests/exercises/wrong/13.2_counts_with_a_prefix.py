"""Adds requests to tokens, without a unit.

caught by: test_work_is_counted_in_tokens_also_since_the_report
code: counts_requests
"""


def choose(request, views):
    return min(
        views, key=lambda v: 500 * (v.num_requests + v.num_sent) + v.uncached_tokens(request)
    ).replica
