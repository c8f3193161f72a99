"""The p99 over the age of what a router sees: from which age a load-aware router is worse than
chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..colours import COLOURS, FAINT, INK
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress

LOOKS = ((COLOURS[4], "s"), (COLOURS[2], "o"), (COLOURS[0], "^"), (COLOURS[6], "D"))


def stale_views(
    p99: Mapping[str, Mapping[float, Sequence[float]]],
    blind: Sequence[float],
    *,
    blind_name: str = "Random",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line for each router, its band from the lowest to the highest seed; the dotted line is a
    router that uses no view. A ring marks where the median first rises above its
    median.

    p99: seconds by router and by age in milliseconds, a value a seed. blind: of that router, the
    same. guess: the name of a predicted age in ms, for the first router.
    """
    figure, (axis,) = canvas(1, ax, height=3.8)
    level, crossings = float(np.median(blind)), []
    ages = sorted({age for line in p99.values() for age in line})
    axis.fill_between(ages, min(blind), max(blind), color=FAINT, alpha=0.15, linewidth=0)
    axis.plot(ages, [level] * len(ages), color=FAINT, linestyle=":", linewidth=2.5)
    axis.annotate(f"{blind_name}, uses no view", (0.06, level), (0, 4), va="bottom",
                  xycoords=axis.get_yaxis_transform(), textcoords="offset points", fontsize=TICK,
                  color=INK)  # fmt: skip
    for (name, line), (colour, marker) in zip(p99.items(), LOOKS, strict=False):
        own = sorted(line)
        values = np.array([line[age] for age in own])
        middle = np.median(values, axis=1)
        axis.fill_between(own, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.2,
                          linewidth=0)  # fmt: skip
        axis.plot(own, middle, color=colour, marker=marker, linewidth=2.4, markersize=7,
                  markeredgecolor=INK)  # fmt: skip
        axis.annotate(name, (own[-1], middle[-1]), (8, 0), textcoords="offset points", va="center",
                      fontsize=TICK, color=INK, annotation_clip=False)  # fmt: skip
        worse = np.flatnonzero(middle > level)
        if len(worse):
            axis.plot(own[worse[0]], middle[worse[0]], "o", markersize=18, fillstyle="none",
                      color=INK, markeredgewidth=1.6)  # fmt: skip
            crossings.append(f"{name} is worse than {blind_name} from {own[worse[0]]:g} ms on")
        else:
            crossings.append(f"{name} is not worse at any tested age")
    title = f"{crossings[0]}{said(guess, '{:g} ms')}"
    dress(axis, title, "age of the router's view, milliseconds", "p99 TTFT, s")
    axis.set_xscale("symlog", linthresh=min((age for age in ages if age), default=1))
    axis.set_xticks(ages, [f"{age:,g}" for age in ages])
    axis.minorticks_off()
    axis.set_yscale("log")
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    mark(axis, guess)
    lines = [
        f"{name}: " + ", ".join(f"{age:g} ms {np.median(line[age]):.2f} s" for age in sorted(line))
        for name, line in p99.items()
    ]
    describe(figure, "Lines of the p99 over the age of the view.", [*crossings, *lines])
    return figure
