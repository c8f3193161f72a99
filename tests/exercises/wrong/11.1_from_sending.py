"""Counts from the time when it sent the request.

caught by: test_latency_counts_from_the_time_when_it_was_due
code: counts_from_sending
"""


def run_load(due, end_ms, now, send, wait):
    latencies, sent = [None] * len(due), []
    while now() < end_ms:
        while len(sent) < len(due) and due[len(sent)] <= now():
            send(len(sent))
            sent.append(now())
        for i in wait(due[len(sent)] if len(sent) < len(due) else end_ms):
            latencies[i] = now() - sent[i]
    return latencies
