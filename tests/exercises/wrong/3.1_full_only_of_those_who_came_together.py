"""Who came late in the window does not count towards a full batch.

caught by: test_a_full_batch_is_ready_at_once
code: other_when_full_one_by_one
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not arrival_times:
        return False
    together = [time for time in arrival_times if time <= arrival_times[0] + max_wait / 2]
    return len(together) >= max_batch_size or arrival_times[0] + max_wait <= now
