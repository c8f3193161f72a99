"""A day under several autoscalers: the load, the replicas paid for, the waits, the money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..colours import COLOURS, FAINT, INK, LIMIT, WORK
from ..picture import TICK, canvas, describe, dress, percent

if TYPE_CHECKING:
    from ...simulator.fleet import FleetRun

LOOKS = ((FAINT, "-"), (COLOURS[4], "--"), (COLOURS[2], "-."), (COLOURS[6], ":"))
PARTS = 48  # of the day, for rates and percentiles


def autoscaled_day(
    runs: Mapping[str, FleetRun],
    *,
    price_per_hour: float,
    limit_s: float | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Three panels over time: requests a second; replicas that are paid for; the p99 TTFT of each
    48th of the day, logarithmic. The title compares the costs with that of the first.

    runs: by name, of the same traffic. price_per_hour: of one replica. limit_s: of the TTFT. ax:
    three Axes.
    """
    figure, axes = canvas(3, ax, height=2.2)
    if ax is None:
        axes[0].get_gridspec().set_height_ratios((2, 4, 4))
    first = next(iter(runs.values()))
    end = max(float(np.nanmax(run.finish)) for run in runs.values())
    edges = np.linspace(0, end, PARTS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    counts, _ = np.histogram(first.arrival, edges)
    rate = counts / np.diff(edges)
    axes[0].fill_between(middles, rate, color=WORK, step="mid")
    costs, waits = {}, {}
    for (name, run), (colour, line) in zip(runs.items(), LOOKS, strict=False):
        times = np.linspace(0, 0.999 * end, 1000)
        costs[name] = run.cost(price_per_hour)
        ttft = np.where(np.isnan(run.ttft), np.inf, run.ttft)
        waits[name] = float(np.percentile(ttft, 99, method="inverted_cdf"))
        axes[1].step(times, run.num_on(times), where="post", color=colour,
                     linestyle=line, linewidth=2.4, label=name)  # fmt: skip
        part = np.digitize(run.arrival, edges) - 1
        p99 = [np.percentile(ttft[part == k], 99) if (part == k).any() else np.nan
               for k in range(PARTS)]  # fmt: skip
        axes[2].plot(middles, p99, color=colour, linestyle=line, linewidth=2.2)
    fixed, *others = costs
    shares = [f"{percent(costs[name] / costs[fixed])} ({name})" for name in others]
    money = f"Cost, as a share of “{fixed}”: {', '.join(shares)}"
    late = "p99 TTFT of the day: " + ", ".join(f"{s:.2g} s ({n})" for n, s in waits.items())
    dress(axes[0], money, "", "requests/s")
    dress(axes[1], "", "", "replicas")
    dress(axes[2], "", "seconds", "p99 TTFT, s")
    for axis in axes:
        axis.margins(x=0.01)
    axes[1].set_ylim(0, None)
    axes[1].yaxis.set_major_locator(MaxNLocator(integer=True))
    axes[2].set_yscale("log")
    axes[2].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if limit_s is not None:
        axes[2].axhline(limit_s, **LIMIT)
        axes[2].annotate(f"limit: {limit_s:g} s", (0.01, limit_s), (0, -4), fontsize=TICK, va="top",
                         xycoords=axes[2].get_yaxis_transform(), textcoords="offset points",
                         color=INK)  # fmt: skip
    ends = {name: int(run.num_on(np.array([0.999 * end]))[0]) for name, run in runs.items()}
    if len(set(ends.values())) == len(ends):
        for name, height in ends.items():
            axes[1].annotate(name, (end, height), (0, 3), textcoords="offset points", ha="right",
                             va="bottom", fontsize=TICK, color=INK)  # fmt: skip
    else:  # labels at the ends would cover one another
        figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4,
                      frameon=False, fontsize=TICK)  # fmt: skip
    describe(figure, "The load, the replicas and the waits over a day.", [money, late])
    return figure
