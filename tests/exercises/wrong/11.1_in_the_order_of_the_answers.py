"""Appends latencies as answers come.

caught by: test_requests_are_sent_when_they_are_due_while_the_server_stalls
code: order_of_the_answers
"""


def run_load(due, end_ms, now, send, wait):
    latencies = []
    num_sent = 0
    while now() < end_ms:
        while num_sent < len(due) and due[num_sent] <= now():
            send(num_sent)
            num_sent += 1
        for i in wait(due[num_sent] if num_sent < len(due) else end_ms):
            latencies.append(now() - due[i])
    return latencies + [None] * (len(due) - len(latencies))
