"""now - max_wait against the arrival, which rounds otherwise than the sum.

caught by: test_the_oldest_has_waited_long_enough
code: beginning_is_rounded
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not arrival_times:
        return False
    return len(arrival_times) >= max_batch_size or arrival_times[0] <= now - max_wait
