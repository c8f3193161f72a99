"""The same percentile from samples of different sizes, over many seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, LIMIT, PROTAGONISTS
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress


def percentile_spread(
    values: Mapping[int, Sequence[float]],
    *,
    what: str = "p99 TTFT",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A row of dots for each sample size: a dot is the percentile of one run. A line is the median
    of the longest runs; each row of shorter runs says how many are left of it.

    values: seconds by the number of requests of a run, one value for each seed. guess: the name of
    a prediction of the largest value divided by the smallest, for the smallest size.
    """
    figure, (axis,) = canvas(1, ax, height=0.5 + 0.75 * len(values))
    rng = np.random.default_rng(0)
    longest = float(np.median(values[max(values)]))
    axis.axvline(longest, **LIMIT, zorder=1)
    findings, names = [], []
    for y, size in enumerate(sorted(values)):
        each = np.asarray(values[size], float)
        at = y + rng.uniform(-0.22, 0.22, len(each))
        axis.plot(each, at, "o", color=PROTAGONISTS[0], markeredgecolor=INK, markersize=7,
                  alpha=0.8)  # fmt: skip
        axis.plot([each.min(), each.max()], [y + 0.36] * 2, "|-", color=INK, linewidth=1.5,
                  markersize=9)  # fmt: skip
        axis.annotate(f"{each.max() / each.min():.2g} ×", (each.max(), y + 0.36), (8, 0),
                      textcoords="offset points", va="center", fontsize=TICK,
                      color=INK)  # fmt: skip
        names.append(f"{size:,} requests")
        findings.append(f"{names[-1]}: {each.min():.2f} to {each.max():.2f} s")
        if size < max(values):
            below = f"{(each < longest).sum()} of {len(each)} left of the line"
            names[-1] += f"\n{below}"
            findings[-1] += f", {below}"
    ratios = [f"{max(values[n]) / min(values[n]):.2g} times" for n in sorted(values)]
    seeds = len(next(iter(values.values())))
    title = f"With {min(values):,} requests, the largest {what} is {ratios[0]} the smallest"
    title += said(guess, "{:.1f} ×")
    line = f"line: median with {max(values):,} requests"
    dress(axis, title, f"{what} of one run ({seeds} runs), seconds; {line}")
    axis.set_yticks(range(len(values)), names)
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.set_ylim(len(values) - 0.4, -0.5)
    axis.set_xlim(0, None)
    describe(figure, f"A dot for each run; {line}.", [title, *findings])
    return figure
