"""As if they had just come.

caught by: test_all_who_stay_are_in_time
says: The limit counts from somebody's arrival
"""


def whom_to_refuse(waiting, now_ms, limit_ms):
    stay, refused, end = [], [], now_ms
    for place, (_, cost_ms) in enumerate(waiting):
        stay.append(place)
        end += cost_ms
        if end > now_ms + limit_ms:
            longest = max(stay, key=lambda one: waiting[one][1])
            stay.remove(longest)
            refused.append(longest)
            end -= waiting[longest][1]
    return refused
