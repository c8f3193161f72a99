"""The deadline is set at the first call and kept.

caught by: test_the_oldest_request_has_waited_long_enough
code: keeps_an_earlier_deadline
"""

_deadline = None


def is_ready(arrival_times, now, max_batch_size, max_wait):
    global _deadline
    if not arrival_times:
        return False
    if _deadline is None:
        _deadline = arrival_times[0] + max_wait
    return len(arrival_times) >= max_batch_size or now >= _deadline
