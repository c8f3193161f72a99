"""Chooses among those before the late request, not the late one itself.

caught by: test_as_many_requests_stay_as_possible
code: late_one_is_spared
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    out, stay, t = [], [], now_ms
    for i, (a, c) in enumerate(waiting):
        if t + c > a + limit_ms and stay:
            j = max(stay, key=lambda k: waiting[k][1])
            stay.remove(j)
            out.append(j)
            t -= waiting[j][1]
        if t + c > a + limit_ms:
            out.append(i)
        else:
            stay.append(i)
            t += c
    return out
