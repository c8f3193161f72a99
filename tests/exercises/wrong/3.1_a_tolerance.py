"""A millisecond of tolerance, since floats are never exact.

caught by: test_otherwise_it_waits
code: other_just_before_the_end
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if not arrival_times:
        return False
    return len(arrival_times) >= max_batch_size or arrival_times[0] + max_wait <= now + 0.001
