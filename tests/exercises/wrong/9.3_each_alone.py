"""Nobody waits for anybody.

caught by: test_all_requests_that_stay_are_in_time
code: refuses_the_hopeless_alone
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    return [
        place
        for place, (arrival_ms, cost_ms) in enumerate(waiting)
        if now_ms + cost_ms > arrival_ms + limit_ms
    ]
