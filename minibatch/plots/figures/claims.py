"""Published speed-ups beside the same settings in the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, log2
from typing import Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ..colours import INK, PROTAGONISTS
from ..picture import LABEL, canvas, describe, dress


class Simulation(Protocol):
    """A speed-up, and its range over efficiencies."""

    value: float
    low: float
    high: float


def claims(
    rows: Mapping[str, tuple[float, Simulation]],
    *,
    ax: Axes | None = None,
) -> Figure:
    """A line for each claim on a logarithmic axis: a hollow diamond is the published ratio, a dot
    with a bar the simulated one with its range.

    rows: published and simulated, by name.
    """
    figure, (axis,) = canvas(1, ax, height=0.9 + 0.45 * len(rows))
    findings = []
    for y, (name, (published, row)) in enumerate(rows.items()):
        looks = (
            axis.plot(published, y, "D", color="white", markeredgecolor=INK, markersize=11,
                      markeredgewidth=1.8, zorder=1),
            axis.plot(row.value, y, "o", color=PROTAGONISTS[0], markeredgecolor=INK, markersize=9),
            axis.plot([row.low, row.high], [y] * 2, color=PROTAGONISTS[0], linewidth=9, alpha=0.5,
                      zorder=0.5, solid_capstyle="butt"),
        )  # fmt: skip
        words = f"{name}: published {published:g} ×, simulated {row.value:.3g} ×"
        findings.append(f"{words} ({row.low:.3g} to {row.high:.3g})")
    within = sum(row.low <= published <= row.high for published, row in rows.values())
    title = f"{within} of {len(rows)} simulated ranges contain the published ratio"
    dress(axis, title, "times the baseline's throughput")
    axis.set_yticks(range(len(rows)), list(rows))
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xscale("log")
    highest = max(max(row.high, published) for published, row in rows.values())
    axis.set_xlim(1, 1.2 * highest)
    axis.set_xticks([2**i for i in range(ceil(log2(highest)) + 1)])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    handles = [line for (line,) in looks]
    names = "published", "simulated", "simulated range"
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False,
                  fontsize=LABEL)  # fmt: skip
    describe(figure, "A diamond and a dot for each claim.", [title, *findings])
    return figure
