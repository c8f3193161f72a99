"""A table of intervals, and the slowest by a heap."""

import heapq

PARTS = {
    "client": [("due", "sent", 1)],
    "network": [("sent", "first_token", 1), ("received", "first_written", -1)],
    "queue": [("received", "scheduled", 1)],
    "prefill": [("scheduled", "first_computed", 1)],
    "event loop": [("first_computed", "first_written", 1)],
    "decode": [("first_token", "last_token", 1)],
}


def where_the_time_went(rows):
    found, latencies = [], {}
    for i, (client, server) in enumerate(rows):
        times = {**client, **(server or {})}
        if len(times) < 9 or any(when is None for when in times.values()):
            found.append(None)
            continue
        latencies[i] = times["last_token"] - times["due"]
        found.append(
            {
                name: sum(sign * (times[end] - times[begin]) for begin, end, sign in several)
                for name, several in PARTS.items()
            }
        )
    slowest = None
    if latencies:
        least = heapq.nlargest((len(latencies) + 99) // 100, latencies.values())[-1]
        sums = dict.fromkeys(PARTS, 0)
        for i, latency in latencies.items():
            for name in PARTS:
                sums[name] += found[i][name] * (latency >= least)
        slowest = max(sums, key=sums.get)
    return {"parts": found, "slowest": slowest, "left_out": len(rows) - len(latencies)}
