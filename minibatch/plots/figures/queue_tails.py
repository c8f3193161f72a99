"""How many requests wait longer than x: one queue for all replicas, or one each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..colours import COLOURS, INK
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress

LOOKS = ((COLOURS[2], "-", "o"), (COLOURS[4], "--", "s"), (COLOURS[6], "-.", "^"))


def queue_tails(
    waits: Mapping[str, Sequence[float]],
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A falling line for each name, on a logarithmic axis; its mark is the p99.

    waits: seconds, one for each request. guess: the name of a predicted p99 of the last, seconds.
    """
    figure, (axis,) = canvas(1, ax, height=3.4)
    p99s = {}
    for (name, each), (colour, line, marker) in zip(waits.items(), LOOKS, strict=False):
        ordered = np.sort(np.asarray(each, float))
        beyond = 100 * (1 - np.arange(len(ordered)) / len(ordered))
        p99 = float(np.percentile(ordered, 99, method="inverted_cdf"))
        p99s[name] = p99
        axis.step(ordered, beyond, where="post", color=colour, linestyle=line, linewidth=2.6,
                  label=f"{name}: {p99:.3g} s")  # fmt: skip
        axis.plot(p99, 1, marker, color=colour, markeredgecolor=INK, markersize=12)
    axis.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    worst, best = (pick(p99s, key=p99s.get) for pick in (max, min))
    times = f"{p99s[worst] / p99s[best]:.1f} × as long as with {best}"
    title = f"{worst.capitalize()}: 1 request in 100 waits {times}{said(guess, '{:g} s')}"
    dress(axis, title, "TTFT, seconds", "% that wait longer")
    axis.set_yscale("log")
    axis.set_ylim(0.05, 130)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_xlim(0, None)
    mark(axis, guess)
    axis.legend(frameon=False, fontsize=TICK, title="p99", title_fontsize=TICK)
    lines = [f"{name}: p99 {p99:.3g} s" for name, p99 in p99s.items()]
    describe(figure, "Falling lines: the share of requests that wait longer.", [title, *lines])
    return figure
