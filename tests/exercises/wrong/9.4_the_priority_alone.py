"""Nothing ages.

caught by: test_waiting_counts_a_point_for_each_stretch
says: Yours looks at the priority alone
"""


def who_is_next(waiting, now_ms, aging_ms):
    def rank(place):
        priority, arrival_ms = waiting[place]
        waited = now_ms - arrival_ms
        return priority, waited

    return max(range(len(waiting)), key=rank)
