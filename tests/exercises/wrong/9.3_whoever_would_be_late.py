"""Whoever is late goes, however cheap.

caught by: test_as_many_requests_stay_as_possible
code: refuses_whoever_is_late
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    refused, end = [], now_ms
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        if end + cost_ms > arrival_ms + limit_ms:
            refused.append(place)
        else:
            end += cost_ms
    return refused
