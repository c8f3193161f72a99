"""Waits for one more than there are seats.

caught by: test_a_full_batch_is_ready_at_once
code: full_only_beyond_its_size
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not arrival_times:
        return False
    return len(arrival_times) > max_batch_size or now - arrival_times[0] >= max_wait
