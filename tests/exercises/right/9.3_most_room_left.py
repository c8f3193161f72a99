"""For every number of those who stay, the least time that they may take."""


def whom_to_refuse(waiting, now_ms, limit_ms):
    best = {0: (now_ms, ())}  # how many stay: when they are done, and who
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        for number, (end, stay) in sorted(best.items(), reverse=True):
            done = end + cost_ms
            if done <= arrival_ms + limit_ms and done < best.get(number + 1, (10**9, ()))[0]:
                best[number + 1] = done, (*stay, place)
    _, stay = best[max(best)]
    return [place for place in range(len(waiting)) if place not in stay]
