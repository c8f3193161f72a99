"""Shares of requests over a latency: several measurements of the same requests, or several runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from math import inf
from statistics import median

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
    """A line for each name: the share of requests whose latency is at most x.

    values: seconds, one for each request; None for a request that was not served. Such a request
    counts as infinitely late: the line ends below 100 %, and the median may be infinite; the end
    says how many were served. The x axis is logarithmic if the latencies lie far apart. guess: the
    name of a prediction in ms. Raises ValueError if no request was served.
    """
    late = [value for value in chain(*values.values()) if value is not None]
    if not late:
        raise ValueError("no request was served, so there is no latency to draw")
    figure, (axis,) = canvas(1, ax, height=3.2)
    findings, ended, ends = [], [], []
    for (name, each), (colour, line) in zip(values.items(), LOOKS, strict=False):
        served = np.sort([1e3 * value for value in each if value is not None])
        shares = 100 * np.arange(1, len(served) + 1) / len(each)
        axis.step(served, shares, where="post", color=colour, linestyle=line, linewidth=2.6)
        findings.append(
            f"{_time(median(inf if value is None else value for value in each))} {name}"
        )
        lost = len(each) - len(served)
        words = name + (f" ({lost:,} of {len(each):,} not served)" if lost else "")
        axis.plot([], [], color=colour, linestyle=line, linewidth=2.6, label=words)
        if lost:
            served_of_all = f"{len(served):,} of {len(each):,} served"
            ends += [(served[-1], shares[-1], served_of_all)] if len(served) else []
            ended.append(f"{name}: {served_of_all}")
    finding = f"Median {what}: {', '.join(findings)}"
    infinite = (
        "; infinite: at least half of the requests were not served" if "infinite" in finding else ""
    )
    far_apart = max(late) > 10 * min(late)
    scale = " (logarithmic)" if far_apart else ""
    dress(axis, finding, f"{what}, ms{scale}{infinite}", "% of requests")
    if far_apart:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_minor_formatter(NullFormatter())
    else:
        axis.set_xlim(0, 1.05e3 * max(late))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.tick_params(axis="x", which="both", labelsize=TICK, colors=INK)
    axis.set_yticks(range(0, 101, 20))
    axis.set_ylim(0, 118 if ends else 104)  # room above a line that ends early
    axis.get_xlim()  # now the axis knows where it ends
    for x, y, words in ends:
        at = (axis.transData - axis.transAxes).transform((x, y))[0]
        axis.annotate(words, (x, y), (0, 8), textcoords="offset points", va="bottom",
                      ha="right" if at > 0.3 else "left", fontsize=LABEL, color=INK)  # fmt: skip
    mark(axis, guess)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=LABEL)
    describe(figure, "A rising line for each measurement.", [finding, *ended])
    return figure


def _time(seconds: float) -> str:
    if seconds == inf:
        return "infinite"
    digits = 0 if seconds >= 0.01 else 1
    return f"{seconds:.2g} s" if seconds >= 1 else f"{1e3 * seconds:.{digits}f} ms"
