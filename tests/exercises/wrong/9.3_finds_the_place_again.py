"""Looks for the place of a tuple at the end: equal tuples have the same place.

caught by: test_all_requests_that_stay_are_in_time
code: refuses_somebody_twice
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    out, stay, t = [], [], now_ms
    for who in waiting:
        stay.append(who)
        t += who[1]
        if t > who[0] + limit_ms:
            longest = max(stay, key=lambda w: w[1])
            stay.remove(longest)
            t -= longest[1]
            out.append(waiting.index(longest))
    return out
