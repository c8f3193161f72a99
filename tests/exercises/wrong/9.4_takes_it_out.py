"""Takes it out of the queue.

caught by: test_of_those_who_came_together_the_most_urgent_is_next
says: this list is the caller's
"""


def who_is_next(waiting, now_ms, aging_ms):
    def rank(place):
        priority, arrival_ms = waiting[place]
        waited = now_ms - arrival_ms
        return priority * aging_ms + waited, waited

    place = max(range(len(waiting)), key=rank)
    waiting.pop(place)
    return place
