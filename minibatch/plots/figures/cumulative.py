"""Shares of requests over a latency: several measurements of the same requests, or several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from ..colours import COLOURS, INK
from ..guesses import mark
from ..picture import LABEL, TICK, canvas, describe, dress

LOOKS = ((COLOURS[2], "-"), (COLOURS[4], "--"), (COLOURS[6], "-."), (COLOURS[5], ":"))


def cumulative(
    values: Mapping[str, Sequence[float | None]],
    *,
    what: str = "TTFT",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line for each name: the share of requests whose latency is at most x, x logarithmic.

    values: seconds, one for each request; None for a request that was not served. Such a request
    counts in the share, so its line ends below 100 %. guess: the name of a prediction in seconds.
    """
    figure, (axis,) = canvas(1, ax, height=3.2)
    findings = []
    for (name, each), (colour, line) in zip(values.items(), LOOKS, strict=False):
        served = np.sort([value for value in each if value is not None])
        shares = 100 * np.arange(1, len(served) + 1) / len(each)
        axis.step(served, shares, where="post", color=colour, linestyle=line, linewidth=2.6)
        middle = float(np.median(served))
        findings.append(f"{name} {_time(middle)}")
        lost = len(each) - len(served)
        words = f"{name}: median {_time(middle)}" + (f", {lost:,} not served" if lost else "")
        axis.plot([], [], color=colour, linestyle=line, linewidth=2.6, label=words)
        axis.plot(
            served[(len(served) - 1) // 2],
            shares[(len(served) - 1) // 2],
            "o",
            color=colour,
            markeredgecolor=INK,
            markersize=9,
        )
    finding = f"Median {what}: {', '.join(findings)}"
    dress(axis, finding, f"{what}, seconds (logarithmic); a dot is the median", "% of requests")
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.tick_params(axis="x", which="both", labelsize=TICK, colors=INK)
    axis.set_ylim(0, 104)
    mark(axis, guess)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=LABEL)
    describe(figure, "A line that rises for each measurement.", [finding])
    return figure


def _time(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"
