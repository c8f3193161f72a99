"""Sends a request, and waits for its answer; counts from sending.

caught by: test_requests_are_sent_when_they_are_due_while_the_server_stalls
code: waits_for_each_answer
"""


def run_load(due, end_ms, now, send, wait):
    latencies = []
    for i, time in enumerate(due):
        while now() < time:
            wait(time)
        sent = now()
        send(i)
        while now() < end_ms and not wait(end_ms):
            pass
        latencies.append(now() - sent)
    return latencies
