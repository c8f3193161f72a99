"""The share of requests in time over the load: prefill and decode apart, or mixed replicas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, INK
from ..guesses import mark
from ..picture import LABEL, TICK, TITLE, canvas, describe, dress, percent

LOOKS = ((COLOURS[2], "-", "o"), (COLOURS[4], "--", "s"), (COLOURS[6], "-.", "^"))
NEAR = 0.2  # of the x axis: the width of a number


def apart_or_mixed(
    shares: Mapping[str, Mapping[str, Mapping[float, float]]],
    *,
    goal: float = 0.9,
    title: str = "",
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """A panel for each mix of prompts and answers, a line for each fleet. A mark with a number is
    where it falls below the goal: its goodput.

    shares: 0 to 1, by mix, by fleet, and by requests per second and replica. goal: the share that
    defines goodput. title: above the panels. guess: the name of a predicted rate, for the
    first panel. ax: one Axes a panel.
    """
    figure, axes = canvas(len(shares), ax, height=3.9, beside=True)
    findings = []
    known = {rate for fleets in shares.values() for line in fleets.values() for rate in line}
    for axis, (mix, fleets) in zip(axes, shares.items(), strict=True):
        goodputs, ends = {}, {}
        for (name, line), (colour, style, marker) in zip(fleets.items(), LOOKS, strict=False):
            rates = sorted(line)
            values = np.array([100 * line[rate] for rate in rates])
            goodputs[name] = _last_within(rates, values, 100 * goal)
            ends[name] = f"{'≥ ' * bool(values.min() >= 100 * goal)}{goodputs[name]:.2g}"
            axis.plot(rates, values, color=colour, linestyle=style, linewidth=2.4)
            axis.plot(goodputs[name], 100 * goal, marker, color=colour, markersize=10,
                      markeredgecolor=INK)  # fmt: skip
            axis.plot([], color=colour, linestyle=style, marker=marker, markersize=10,
                      markeredgecolor=INK, linewidth=2.4, label=name)  # fmt: skip
        axis.axhline(100 * goal, color=INK, linestyle=":", linewidth=1)
        for name, rate in goodputs.items():  # the number is right of its mark, unless one is near
            near = any(
                (rate, name) < (other, its_name) and other - rate < NEAR * np.ptp(list(known))
                for its_name, other in goodputs.items()
            )
            side = {"ha": "right", "xytext": (-8, 2)} if near else {"xytext": (8, 2)}
            axis.annotate(ends[name], (rate, 100 * goal), textcoords="offset points", va="bottom",
                          fontsize=LABEL, color=INK, **side)  # fmt: skip
        numbers = [f"{ends[name]} ({name})" for name in sorted(goodputs, key=goodputs.get)[::-1]]
        findings.append(f"{mix}: {', '.join(numbers)} a second per replica")
        within = "% of requests in time" if axis is axes[0] else ""
        dress(axis, mix, "requests a second per replica", within)
        axis.title.set_fontsize(LABEL)
        axis.set_ylim(0, 106)
        axis.set_xlim(min(known) - 0.2, max(known) + 0.2)
    mark(axes[0], guess)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  frameon=False, fontsize=TICK)  # fmt: skip
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=TITLE, color=INK)
    describe(figure, f"Lines of the share in time over the load. Goal: {percent(goal)}.", findings)
    return figure


def _last_within(rates: list[float], values: np.ndarray, goal: float) -> float:
    """Where the line first falls below the goal, interpolated; 0 if it starts below."""
    below = np.flatnonzero(values < goal)
    if not len(below):
        return rates[-1]
    i = below[0]
    if i == 0:
        return 0.0
    share = (values[i - 1] - goal) / (values[i - 1] - values[i])
    return rates[i - 1] + share * (rates[i] - rates[i - 1])
