"""As if the machine had been free all the time.

caught by: test_all_who_stay_are_in_time
says: yours begins when the first came
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    stay, refused, end = [], [], waiting[0][0] if waiting else 0
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        stay.append(place)
        end += cost_ms
        if end > arrival_ms + limit_ms:
            longest = max(stay, key=lambda one: waiting[one][1])
            stay.remove(longest)
            refused.append(longest)
            end -= waiting[longest][1]
    return refused
