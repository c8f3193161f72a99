"""Stops when all requests that were sent have their answers.

caught by: test_each_request_has_its_latency
code: returns_before_all_are_sent
"""


def run_load(due, end_ms, now, send, wait):
    latency = [None] * len(due)
    sent = open_ = 0
    while now() < end_ms:
        while sent < len(due) and due[sent] <= now():
            send(sent)
            sent += 1
            open_ += 1
        if sent and not open_:
            break
        for i in wait(due[sent] if sent < len(due) else end_ms):
            latency[i] = now() - due[i]
            open_ -= 1
    return latency
