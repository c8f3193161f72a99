"""Takes a latency of 0 ms for no answer.

caught by: test_answers_in_any_order_find_their_requests
code: latency_of_0_is_none
"""


def run_load(due, end_ms, now, send, wait):
    latency = [None] * len(due)
    sent = 0
    while now() < end_ms:
        while sent < len(due) and due[sent] <= now():
            send(sent)
            sent += 1
        until = due[sent] if sent < len(due) else end_ms
        for i in wait(until):
            if now() < end_ms:
                latency[i] = now() - due[i]
    return [ms or None for ms in latency]
