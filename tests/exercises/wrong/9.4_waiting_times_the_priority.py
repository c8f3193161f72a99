"""Nothing times something is nothing.

caught by: test_waiting_counts_a_point_for_each_stretch
says: who has a priority of 0 gains nothing: add the two
"""


def who_is_next(waiting, now_ms, aging_ms):
    def rank(place):
        priority, arrival_ms = waiting[place]
        waited = now_ms - arrival_ms
        return priority * waited

    return max(range(len(waiting)), key=rank)
