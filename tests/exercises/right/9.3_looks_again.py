"""Looks for the late anew, after each one that is refused."""


def late(waiting, refused, now_ms, limit_ms):
    found, end = [], now_ms
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        if place not in refused:
            end += cost_ms
            if end > arrival_ms + limit_ms:
                found.append(place)
    return found


def whom_to_refuse(waiting, now_ms, limit_ms):
    refused = []
    while found := late(waiting, refused, now_ms, limit_ms):
        stay = [i for i in range(found[0] + 1) if i not in refused]
        refused.append(max(stay, key=lambda i: waiting[i][1]))
    return refused
