"""Tries sets of the refused, the small ones first, if there are few."""


def whom_to_refuse(waiting, now_ms, limit_ms):
    from heapq import heappop, heappush
    from itertools import combinations

    def in_time(gone):
        end = now_ms
        for place, (arrival_ms, cost_ms) in enumerate(waiting):
            if place not in gone:
                end += cost_ms
                if end > arrival_ms + limit_ms:
                    return False
        return True

    if len(waiting) <= 8:
        sizes = range(len(waiting) + 1)
        ways = (gone for n in sizes for gone in combinations(range(len(waiting)), n))
        return next(gone for gone in ways if in_time(gone))
    heap, gone, end = [], [], now_ms
    for place, (arrival_ms, cost_ms) in enumerate(waiting):
        heappush(heap, (-cost_ms, -place))
        end += cost_ms
        if end > arrival_ms + limit_ms:
            minus_cost, minus_place = heappop(heap)
            end += minus_cost
            gone.append(-minus_place)
    return gone
