"""More than max_wait, where max_wait itself is enough.

caught by: test_the_oldest_has_waited_long_enough
code: window_ends_after_its_end
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not arrival_times:
        return False
    return len(arrival_times) >= max_batch_size or now - arrival_times[0] > max_wait
