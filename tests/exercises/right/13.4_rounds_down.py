"""Rounds down, which costs less, and the reserve is enough."""


def desired(now, ready, starting, ongoing, last_change, min_replicas, max_replicas, target):
    have = ready + starting
    up, down = min(ongoing[-2:]) // target, max(ongoing) // target
    if up > have or (down < have and len(ongoing) == 20):
        have = max(up, down) if up > have else down
    return sorted((min_replicas, have, max_replicas))[1]
