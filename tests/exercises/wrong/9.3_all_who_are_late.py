"""Looks once.

caught by: test_as_many_stay_as_can
code: refuses_all_who_are_late
"""


def late(waiting, refused, now_ms, limit_ms):
    found, end = [], now_ms
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        if place not in refused:
            end += cost_ms
            if end > arrival_ms + limit_ms:
                found.append(place)
    return found


def whom_to_refuse(waiting, now_ms, limit_ms):
    return late(waiting, [], now_ms, limit_ms)
