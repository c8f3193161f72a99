"""Keeps each group where it was first sent.

caught by: test_work_is_counted_in_tokens_also_since_the_report
code: keeps_something_between_calls
"""

HOME = {}


def choose(request, views):
    key = request.prefix_hashes[:1]
    numbers = [v.replica for v in views]
    if HOME.get(key) not in numbers:
        HOME[key] = min(
            views,
            key=lambda v: v.num_uncached_tokens + v.num_sent_tokens + v.uncached_tokens(request),
        ).replica
    return HOME[key]
