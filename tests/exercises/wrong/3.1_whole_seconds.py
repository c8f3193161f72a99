"""Compares whole seconds.

caught by: test_otherwise_it_waits
code: whole_seconds
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not arrival_times:
        return False
    full = len(arrival_times) >= max_batch_size
    return full or int(now) >= int(arrival_times[0] + max_wait)
