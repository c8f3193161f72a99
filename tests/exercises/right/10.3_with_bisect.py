"""The rest as a running sum, searched."""

from bisect import bisect_right
from itertools import accumulate


def accept_or_draw(p, q, token, u, v):
    ratio = min(1.0, p[token] / q[token])
    if u < ratio:
        return token
    sums = list(accumulate(max(0.0, a - b) for a, b in zip(p, q, strict=True)))
    return bisect_right(sums, v * sums[-1])
