"""Takes this prompt for all that was sent.

caught by: test_work_is_counted_in_tokens_also_since_the_report
code: ignores_tokens_sent
"""


def choose(request, views):
    return min(
        views,
        key=lambda v: (
            v.num_uncached_tokens + v.num_sent * request.num_tokens + v.uncached_tokens(request)
        ),
    ).replica
