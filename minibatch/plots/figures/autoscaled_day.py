"""A day under several autoscalers: the load, the replicas paid for, the waits, the money."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..colours import COLOURS, INK, LIMIT, WORK
from ..guesses import mark
from ..picture import LABEL, TICK, canvas, describe, dress

if TYPE_CHECKING:
    from ...simulator.fleet import FleetRun

LOOKS = ((COLOURS[4], "-"), (COLOURS[5], "--"), (COLOURS[2], "-."), (COLOURS[6], ":"))
PARTS = 48  # of the day, for rates and percentiles
SHIFT = 0.08  # of a replica between lines, so that equal numbers do not cover one another


def autoscaled_day(
    runs: Mapping[str, FleetRun],
    *,
    price_per_hour: float,
    currency: str = "$",
    limit_s: float | None = None,
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Three panels over time: requests a second; replicas that are paid for, each line a little
    above the one before; the p99 TTFT of each 48th of the day, logarithmic. Titles state the cost
    of a million tokens and the p99 of the day.

    runs: by name, of the same traffic. price_per_hour: of one replica. limit_s: of the TTFT. guess:
    the name of a predicted number of replicas. ax: three Axes.
    """
    figure, axes = canvas(3, ax, height=2.2)
    if ax is None:
        axes[0].get_gridspec().set_height_ratios((2, 4, 3))
    first = next(iter(runs.values()))
    end = max(float(np.nanmax(run.finish)) for run in runs.values())
    edges = np.linspace(0, end, PARTS + 1)
    middles = (edges[1:] + edges[:-1]) / 2
    counts, _ = np.histogram(first.arrival, edges)
    rate = counts / np.diff(edges)
    axes[0].fill_between(middles, rate, color=WORK, step="mid")
    costs, waits = {}, {}
    for i, ((name, run), (colour, line)) in enumerate(zip(runs.items(), LOOKS, strict=False)):
        times = np.linspace(0, 0.999 * end, 1000)
        costs[name] = run.cost_per_million(price_per_hour)
        ttft = np.where(np.isnan(run.ttft), np.inf, run.ttft)
        waits[name] = float(np.percentile(ttft, 99, method="inverted_cdf"))
        axes[1].step(times, run.num_on(times) + SHIFT * i, where="post", color=colour,
                     linestyle=line, linewidth=2.4, label=name)  # fmt: skip
        part = np.digitize(run.arrival, edges) - 1
        p99 = [np.percentile(ttft[part == k], 99) if (part == k).any() else np.nan
               for k in range(PARTS)]  # fmt: skip
        axes[2].plot(middles, p99, color=colour, linestyle=line, linewidth=2.2)
    money = ", ".join(f"{currency}{cost:.2f} ({name})" for name, cost in costs.items())
    money = f"Replicas; a million tokens cost {money}"
    late = ", ".join(f"{s:.2g} s ({name})" for name, s in waits.items())
    late = f"p99 TTFT of the day: {late}"
    load = f"{rate.min():.1f} to {rate.max():.1f} requests arrive in a second"
    dress(axes[0], load, "", "requests/s")
    dress(axes[1], money, "", "replicas")
    dress(axes[2], late, "", "p99 TTFT, s")
    axes[2].set_xlabel("seconds", fontsize=LABEL, color=INK)
    for axis in axes:
        axis.title.set_fontsize(LABEL)
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
    mark(axes[1], guess, along="y")
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=4,
                  frameon=False, fontsize=TICK)  # fmt: skip
    describe(figure, "The load, the replicas and the waits over a day.", [load, money, late])
    return figure
