"""Only those whose time is over.

caught by: test_all_requests_that_stay_are_in_time
code: refuses_who_waited_beyond_the_limit
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    return [i for i, (arrival_ms, _) in enumerate(waiting) if now_ms > arrival_ms + limit_ms]
