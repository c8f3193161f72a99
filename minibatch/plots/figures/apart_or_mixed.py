"""The share of requests in time over the load: prefill and decode apart, or mixed replicas."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, INK
from ..guesses import mark
from ..picture import LABEL, TICK, canvas, describe, dress, percent

LOOKS = ((COLOURS[2], "-", "o"), (COLOURS[4], "--", "s"), (COLOURS[6], "-.", "^"))
SIZES = 12, 16, 20  # of the hollow marks, so that all can be seen at one point


def apart_or_mixed(
    shares: Mapping[str, Mapping[str, Mapping[float, float]]],
    *,
    goal: float = 0.9,
    slo: str = "",
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """A panel for each mix of prompts and answers, a line for each fleet; a large hollow mark is
    where it falls below the goal: its goodput. The legend below each panel has the goodputs.

    shares: 0 to 1, by mix, by fleet, and by requests per second and replica. goal: the share that
    defines goodput. slo: its text, above the panels. guess: the name of a predicted rate, for the
    first panel. ax: one Axes a panel.
    """
    figure, axes = canvas(len(shares), ax, height=4.6, beside=True)
    findings = []
    for axis, (mix, fleets) in zip(axes, shares.items(), strict=True):
        goodputs, ends = {}, {}
        looks = zip(fleets.items(), LOOKS, SIZES, strict=False)
        for (name, line), (colour, style, marker), size in looks:
            rates = sorted(line)
            values = np.array([100 * line[rate] for rate in rates])
            goodputs[name] = _last_within(rates, values, 100 * goal)
            ends[name] = f"{'≥ ' * bool(values.min() >= 100 * goal)}{goodputs[name]:.2g}"
            axis.plot(rates, values, color=colour, linestyle=style, marker=marker, linewidth=2.4,
                      markersize=6, markeredgecolor=INK, label=f"{name}: {ends[name]}")  # fmt: skip
            axis.plot(goodputs[name], 100 * goal, marker, color=colour, markersize=size,
                      markeredgewidth=2.4, fillstyle="none", zorder=5)  # fmt: skip
        axis.axhline(100 * goal, color=INK, linestyle=":", linewidth=1)
        numbers = [f"{ends[name]} ({name})" for name in sorted(goodputs, key=goodputs.get)[::-1]]
        findings.append(f"{mix}: {', '.join(numbers)} a second per replica")
        within = "% of requests in time" if axis is axes[0] else ""
        dress(axis, mix, "requests a second per replica", within)
        axis.title.set_fontsize(LABEL)
        axis.set_ylim(0, 106)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False, fontsize=TICK,
                    title=f"{100 * goal:.0f} % in time up to", title_fontsize=TICK)  # fmt: skip
    mark(axes[0], guess)
    if slo:
        figure.suptitle(f"In time: {slo}", x=0.01, ha="left", fontsize=LABEL, color=INK)
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
