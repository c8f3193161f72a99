"""Takes the refused out of the caller's list.

caught by: test_all_who_stay_are_in_time
says: this list is the caller's
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    stay, refused, end = [], [], now_ms
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        stay.append(place)
        end += cost_ms
        if end > arrival_ms + limit_ms:
            longest = max(stay, key=lambda one: waiting[one][1])
            stay.remove(longest)
            refused.append(longest)
            end -= waiting[longest][1]
    return [waiting.remove(waiting[one]) for one in refused]
