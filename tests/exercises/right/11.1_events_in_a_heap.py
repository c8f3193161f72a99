"""A heap of what is to come; stops when all are answered."""

import heapq


def run_load(due, end_ms, now, send, wait):
    heap = [(time, i) for i, time in enumerate(due)] + [(end_ms, -1)]
    heapq.heapify(heap)
    told = [None for _ in due]
    while None in told and now() < end_ms:
        time, i = heap[0]
        if i >= 0 and now() >= time:
            heapq.heappop(heap)
            send(i)
            continue
        for answered in wait(float(time)):
            told[answered] = now()
    return tuple(None if t is None else t - d for t, d in zip(told, due, strict=True))
