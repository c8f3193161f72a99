"""Waits for each answer, though it counts from the due time.

caught by: test_requests_are_sent_when_they_are_due_while_the_server_stalls
code: waits_for_each_answer
"""


def run_load(due, end_ms, now, send, wait):
    latencies = [None] * len(due)
    for i, time in enumerate(due):
        while now() < time:
            wait(time)
        if now() >= end_ms:
            break
        send(i)
        while now() < end_ms and latencies[i] is None:
            for answered in wait(end_ms):
                latencies[answered] = now() - due[answered]
    return latencies
