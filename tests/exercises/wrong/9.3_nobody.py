"""Says no to nobody.

caught by: test_all_requests_that_stay_are_in_time
code: refuses_nobody
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    return []
