"""Sends the next one when wait returns, even if it returned with an answer.

caught by: test_each_request_has_its_latency
code: sends_before_it_is_due
"""


def run_load(due, end_ms, now, send, wait):
    latencies = [None] * len(due)
    for i, time in enumerate(due):
        if now() < time:
            for answered in wait(time):
                latencies[answered] = now() - due[answered]
        send(i)
    while now() < end_ms:
        for answered in wait(end_ms):
            latencies[answered] = now() - due[answered]
    return latencies
