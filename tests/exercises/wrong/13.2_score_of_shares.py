"""Prefix share minus queue share.

caught by: test_work_is_counted_in_tokens_also_since_the_report
code: counts_requests
"""


def choose(request, views):
    longest = max(1, *(v.num_waiting + v.num_sent for v in views)) if len(views) > 1 else 1

    def score(view):
        cached = view.cached_tokens(request) / request.num_tokens
        return 3 * cached - 4 * (view.num_waiting + view.num_sent) / longest

    return max(views, key=score).replica
