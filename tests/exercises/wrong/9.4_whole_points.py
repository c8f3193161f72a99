"""Divides by //.

caught by: test_waiting_counts_a_point_for_each_stretch
says: a part of aging_ms is worth that part of a point
"""


def who_is_next(waiting, now_ms, aging_ms):
    def rank(place):
        priority, arrival_ms = waiting[place]
        waited = now_ms - arrival_ms
        return priority + waited // aging_ms, waited

    return max(range(len(waiting)), key=rank)
