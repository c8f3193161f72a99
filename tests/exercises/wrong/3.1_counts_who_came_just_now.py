"""Counts only who came within the window for 'full'.

caught by: test_the_oldest_request_has_waited_long_enough
code: other_with_two_in_the_window
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    recent = [t for t in arrival_times if now < t + max_wait]
    if not arrival_times:
        return False
    return len(recent) >= max_batch_size or (not recent)
