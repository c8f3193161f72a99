"""A quick average up, the highest of ten minutes down, and a rest between."""

import math


def desired(now, ready, starting, ongoing, last_change, least, most, target):
    have = ready + starting
    quick = sum(ongoing[-3:]) / len(ongoing[-3:])
    need = math.ceil(quick / target)
    rested = last_change is None or now - last_change >= 300
    if need <= have:
        need = math.ceil(max(ongoing) / target)
        if need > have or not rested or len(ongoing) < 20:
            need = have
    return min(max(need, least), most)
