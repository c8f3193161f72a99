"""Lets a full batch wait.

caught by: test_a_full_batch_is_ready_at_once
code: full_batch_waits
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    return bool(arrival_times) and now - arrival_times[0] >= max_wait
