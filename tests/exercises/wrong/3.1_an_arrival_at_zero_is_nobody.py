"""any() of the times: an arrival at 0.0 counts as nobody.

caught by: test_the_oldest_request_has_waited_long_enough
code: arrival_at_zero_is_none
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not any(arrival_times):
        return False
    return len(arrival_times) >= max_batch_size or arrival_times[0] + max_wait <= now
