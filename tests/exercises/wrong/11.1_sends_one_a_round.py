"""Sends one request in each round.

caught by: test_answers_in_any_order_find_their_requests
code: one_send_for_each_wait
"""


def run_load(due, end_ms, now, send, wait):
    latencies = [None] * len(due)
    num_sent = 0
    while now() < end_ms:
        if num_sent < len(due) and due[num_sent] <= now():
            send(num_sent)
            num_sent += 1
        until = due[num_sent] if num_sent < len(due) else end_ms
        for i in wait(max(until, now() + 1)):
            latencies[i] = now() - due[i]
    return latencies
