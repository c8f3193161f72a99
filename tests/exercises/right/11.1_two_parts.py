"""Sends until the last is due; then waits for the rest."""


def run_load(due, end_ms, now, send, wait):
    latencies = [None] * len(due)

    def wait_until(time):
        while now() < time:
            for i in wait(time):
                latencies[i] = now() - due[i]

    for i, time in enumerate(due):
        wait_until(time)
        send(i)
    wait_until(end_ms)
    return latencies
