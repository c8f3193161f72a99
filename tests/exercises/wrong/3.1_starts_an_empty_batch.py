"""Takes nobody's patience for ended.

caught by: test_without_a_request_there_is_no_batch
code: starts_with_nobody
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    oldest = min(arrival_times, default=0.0)
    return len(arrival_times) >= max_batch_size or now - oldest >= max_wait
