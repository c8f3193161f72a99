"""A point is as good as having come earlier; the time now does not matter."""


def who_is_next(waiting, now_ms, aging_ms):
    came = [arrival_ms - priority * aging_ms for priority, arrival_ms in waiting]
    best = min(came)
    return min((i for i, c in enumerate(came) if c == best), key=lambda i: waiting[i][1])
