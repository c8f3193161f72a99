"""After a late wake-up it sends the requests of one due time only.

caught by: test_latency_counts_from_the_time_when_it_was_due
code: one_due_time_for_each_wait
"""


def run_load(due, end_ms, now, send, wait):
    latency = [None] * len(due)
    sent = 0
    while now() < end_ms:
        if sent < len(due) and due[sent] <= now():
            at = due[sent]
            while sent < len(due) and due[sent] == at:
                send(sent)
                sent += 1
        until = due[sent] if sent < len(due) else end_ms
        for i in wait(until):
            if now() < end_ms:
                latency[i] = now() - due[i]
    return latency
