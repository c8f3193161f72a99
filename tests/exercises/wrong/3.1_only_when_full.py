"""Knows no window.

caught by: test_the_oldest_request_has_waited_long_enough
code: knows_no_window
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    return len(arrival_times) >= max_batch_size
