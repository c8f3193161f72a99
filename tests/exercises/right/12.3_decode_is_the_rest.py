"""The network is what is left of the latency."""

NAMES = ["client", "network", "queue", "prefill", "event loop", "decode"]


def parts_of(client, server):
    if server is None or None in [*client.values(), *server.values()]:
        return None
    due, sent, first, last = client.values()
    received, scheduled, computed, written, _ = server.values()
    known = [sent - due, 0, scheduled - received, computed - scheduled, written - computed]
    known.append(last - first)
    known[1] = last - due - sum(known)
    return dict(zip(NAMES, known, strict=True))


def where_the_time_went(rows):
    parts = [parts_of(*row) for row in rows]
    ordered = sorted(filter(None, parts), key=lambda one: sum(one.values()))
    num = -(-len(ordered) // 100)
    while 0 < num < len(ordered) and sum(ordered[-num - 1].values()) == sum(ordered[-num].values()):
        num += 1
    slow = ordered[len(ordered) - num :]
    sums = [sum(one[name] for one in slow) for name in NAMES]
    return {
        "parts": parts,
        "left_out": parts.count(None),
        "slowest": NAMES[sums.index(max(sums))] if slow else None,
    }
