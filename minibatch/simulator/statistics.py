"""What a number from few measurements is worth: percentiles, and intervals over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, comb

import numpy as np

FEWEST_BEYOND = 10  # values; the estimate then varies by about 1/√10, a third, in its rank


def percentile(values: Sequence[float] | np.ndarray, q: float) -> float:
    """The q-th percentile, a measured value (nearest rank), if enough values are beyond it.

    A p99 of 100 values is the second largest of them: another run gives another number. Raises
    ValueError for fewer than 10 values beyond it, or for NaN.
    """
    values = np.asarray(values, dtype=float)
    if missing := int(np.isnan(values).sum()):
        raise ValueError(
            f"{missing:,} of {len(values):,} values are NaN: requests that failed, or answers of "
            "one token. Count a failure as np.inf, and leave out a request that has no such time."
        )
    check_enough(len(values), q)
    return float(np.percentile(values, q, method="inverted_cdf"))


def check_enough(num_values: int, q: float) -> None:
    """Raise ValueError, with what to do, if the q-th percentile rests on fewer than 10 values."""
    if not 0 < q < 100:
        raise ValueError(f"q is {q}; give a percentile between 0 and 100, such as 50, 90 or 99")
    rarer = min(q, 100 - q) / 100
    beyond, needed = round(num_values * rarer, 6), ceil(round(FEWEST_BEYOND / rarer, 6))
    if beyond >= FEWEST_BEYOND:
        return
    advice = f"Measure {needed:,} requests"
    if num_values >= 2 * FEWEST_BEYOND:
        share = 100 * FEWEST_BEYOND / num_values
        within = np.floor(100 - share) if q > 50 else np.ceil(share)
        advice += f", or take p{within:g}"
    raise ValueError(
        f"p{q:g} of {num_values:,} values has only {beyond:.3g} values beyond it; it needs "
        f"{FEWEST_BEYOND}. {advice}."
    )


@dataclass(frozen=True)
class Interval:
    """The median of runs, and limits that hold the true median with this confidence."""

    low: float
    median: float
    high: float
    confidence: float
    num_runs: int

    def __str__(self) -> str:
        return (
            f"{self.median:.3g} ({self.low:.3g}–{self.high:.3g}, {self.confidence:.0%} confidence, "
            f"{self.num_runs} seeds)"
        )


def median_interval(values: Sequence[float] | np.ndarray, confidence: float = 0.95) -> Interval:
    """The median over seeds, and the narrowest pair of order statistics that holds the true median
    with at least this confidence. No shape of the distribution is assumed.

    Each value lies below the true median with probability 1/2, so it lies outside the k-th smallest
    and the k-th largest with probability 2 · P(Binomial(n, 1/2) < k). Raises ValueError for too few
    values: 95 % needs 6.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    n, k, outside = len(ordered), 0, 0.0
    while k < n // 2:
        more = outside + 2 * comb(n, k) / 2**n
        if more > 1 - confidence:
            break
        k, outside = k + 1, more
    if k == 0:
        raise ValueError(
            f"{n} runs are too few for {confidence:.0%} confidence: even from lowest to highest "
            f"they give only {max(0.0, 1 - 2 * 0.5**n):.0%}. Run more seeds, such as 20."
        )
    return Interval(
        float(ordered[k - 1]), float(np.median(ordered)), float(ordered[-k]), 1 - outside, n
    )
