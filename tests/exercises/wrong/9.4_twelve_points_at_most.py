"""Waiting helps up to a limit.

caught by: test_nobody_starves_behind_urgent_ones_without_end
says: Waiting has to count without end
"""


def who_is_next(waiting, now_ms, aging_ms):
    def rank(place):
        priority, arrival_ms = waiting[place]
        waited = now_ms - arrival_ms
        return priority + min(waited / aging_ms, 12), waited

    return max(range(len(waiting)), key=rank)
