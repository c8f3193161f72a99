"""No priorities at all.

caught by: test_of_those_who_came_together_the_most_urgent_is_next
says: Yours looks at who has waited longest alone
"""


def who_is_next(waiting, now_ms, aging_ms):
    def rank(place):
        priority, arrival_ms = waiting[place]
        waited = now_ms - arrival_ms
        return waited

    return max(range(len(waiting)), key=rank)
