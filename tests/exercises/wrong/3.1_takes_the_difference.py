"""Compares a difference of floats, which may be rounded down.

caught by: test_the_oldest_has_waited_long_enough
code: difference_is_rounded
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not arrival_times:
        return False
    return len(arrival_times) >= max_batch_size or now - arrival_times[0] >= max_wait
