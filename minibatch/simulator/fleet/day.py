"""Traffic of one day: few requests at night, most at noon."""

from __future__ import annotations

import math

import numpy as np

from ...core.checks import check_number
from ..traffic import AZURE_CONVERSATION, Lengths, Traffic


def day(
    peak_rate: float,
    *,
    seconds: float = 86_400.0,
    night: float = 0.1,
    lengths: Lengths = AZURE_CONVERSATION,
    seed: int = 0,
) -> Traffic:
    """Independent arrivals, whose rate is a cosine over the day: `peak_rate` requests per second at
    noon, and the share `night` of it at midnight, where the day begins. seconds: of a day; a
    shorter day has fewer requests, and changes its rate faster."""
    check_number("peak_rate", peak_rate, "be above 0 requests per second", lambda x: x > 0)
    check_number("seconds", seconds, "be above 0", lambda x: x > 0)
    check_number("night", night, "lie between 0 and 1", lambda x: 0 <= x <= 1)
    rng = np.random.default_rng(seed)
    most = rng.poisson(peak_rate * seconds)
    arrival = np.sort(rng.uniform(0, seconds, most))
    share = night + (1 - night) * (1 - np.cos(2 * math.pi * arrival / seconds)) / 2
    arrival = arrival[rng.random(most) < share]  # thinned (Lewis and Shedler, 1979)
    return Traffic(arrival, *lengths.draw(len(arrival), rng))
