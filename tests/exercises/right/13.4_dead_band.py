"""Between six tenths and all of what there is, nothing changes."""

import math


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    have = ready + starting
    mean = sum(ongoing[-4:]) / len(ongoing[-4:]) / target
    if mean > 1.04 * have or (
        mean < 0.7 * have and len(ongoing) == 20 and max(ongoing[-8:]) < 0.95 * have * target
    ):
        have = math.ceil(1.08 * mean)
    return min(max(have, least), most)
