"""A window of 0 s is over, also for nobody.

caught by: test_without_a_request_there_is_no_batch
code: starts_with_nobody_in_a_short_window
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    a, m, x = arrival_times, max_batch_size, max_wait
    return len(a) >= m or x == 0 or (len(a) > 0 and now >= a[0] + x)
