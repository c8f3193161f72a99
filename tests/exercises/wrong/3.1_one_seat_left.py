"""Takes one seat less for full.

caught by: test_a_batch_that_is_not_ready_waits
code: full_one_seat_early
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    a, m, x = arrival_times, max_batch_size, max_wait
    return bool(a) and (len(a) >= m - 1 or now >= a[0] + x)
