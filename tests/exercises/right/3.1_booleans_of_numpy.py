"""Answers with numpy's True and False."""


def is_ready(arrival_times, now, max_batch_size, max_wait):
    a, m, x = arrival_times, max_batch_size, max_wait
    import numpy as np

    return np.bool_(len(a) > 0 and (len(a) >= m or now >= a[0] + x))
