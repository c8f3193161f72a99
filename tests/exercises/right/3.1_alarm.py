"""The moment at which it is ready, infinity for never."""

import math


def is_ready(arrival_times, now, max_batch_size, max_wait):
    if len(arrival_times[:max_batch_size]) == max_batch_size:
        alarm = -math.inf
    else:
        alarm = min((t + max_wait for t in arrival_times), default=math.inf)
    return not now < alarm
