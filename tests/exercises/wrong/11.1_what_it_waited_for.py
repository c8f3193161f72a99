"""Sends what was due at the time it waited for, not what is due now.

caught by: test_latency_counts_from_the_time_when_it_was_due
code: one_due_time_for_each_wait
"""


def run_load(due, end_ms, now, send, wait):
    latency = [None] * len(due)
    sent, until = 0, 0
    while now() < end_ms:
        while sent < len(due) and due[sent] <= until and now() >= due[sent]:
            send(sent)
            sent += 1
        until = due[sent] if sent < len(due) else end_ms
        for i in wait(until):
            if now() < end_ms:
                latency[i] = now() - due[i]
    return latency
