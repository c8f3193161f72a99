"""Looks every few milliseconds of virtual time, and never misses a due time."""


def run_load(due, end_ms, now, send, wait):
    latencies, left = {}, list(range(len(due)))
    while (time := now()) < end_ms and len(latencies) < len(due):
        while left and due[left[0]] <= time:
            send(left.pop(0))
        soon = [time + 25, end_ms] + [due[i] for i in left[:1]]
        answered = wait(min(soon))
        came = now()
        latencies.update((i, came - due[i]) for i in answered)
    return [latencies.get(i) for i in range(len(due))]
