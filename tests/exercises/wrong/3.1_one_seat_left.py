"""Takes one seat less for full.

caught by: test_otherwise_it_waits
code: full_one_seat_early
"""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    a, m, x = arrival_times, max_batch_size, max_wait
    return bool(a) and (len(a) >= m - 1 or now >= a[0] + x)
