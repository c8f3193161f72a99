"""What each replica had to do over time under a router, and how many requests it got, or what it
found in its prefix cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..colours import INK, WASTE, WORK
from ..guesses import said
from ..picture import LABEL, TICK, Picture, describe, dress

if TYPE_CHECKING:
    from ...simulator.fleet import FleetRun

POINTS = 400  # in time
SOME = 1.5  # a replica with so many times the mean load is hot


def replica_loads(run: FleetRun, *, name: str = "", guess: str | None = None) -> Figure:
    """A lane for each replica: its requests, waiting and running, over time; beside it a bar: the
    share of its prompt tokens that it found cached, or without a cache the number of its requests.
    A replica with at least 1.5 times the mean load is hot: solid, with its number.

    name: of the router, for the title. guess: the name of a predicted hit rate in percent.
    """
    figure = Picture(figsize=(11, 1.6 + 0.6 * run.num_replicas), layout="constrained",
                     facecolor="white")  # fmt: skip
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    end = float(np.nanmax(run.finish))
    times = np.linspace(0, end, POINTS)
    counts = run.ongoing(times)
    means, highest = counts.mean(axis=1), max(1, counts.max())
    hot = int(means.argmax())
    is_hot = run.num_replicas > 1 and means[hot] >= SOME * means.mean()
    served, caches = run.served_by(), run.hit_rate > 0
    rates = run.hit_rates(np.array([0.0, end + 1]))[:, 0]
    for lane in range(run.num_replicas):
        marked = is_hot and lane == hot
        base = lane + 0.4
        left.fill_between(times, base - 0.85 * counts[lane] / highest, base, step="post",
                          color=WASTE if marked else WORK, linewidth=0)  # fmt: skip
        left.axhline(base, color=INK, linewidth=0.5)
        if marked:
            left.annotate(f"hot: {means[lane]:.1f} requests on average, {counts[lane].max()} at "
                          "most", (0.01, base - 0.82), xycoords=left.get_yaxis_transform(),
                          fontsize=TICK, weight="bold", color=INK, va="center",
                          bbox={"facecolor": "white", "edgecolor": WASTE})  # fmt: skip
        share = 0.0 if np.isnan(rates[lane]) else 100 * rates[lane]
        share, text = (share, f"{share:.0f} %") if caches else (served[lane], f"{served[lane]}")
        right.barh(lane, share, height=0.7, color=WASTE if marked else WORK,
                   hatch="//" if marked else "", edgecolor=INK, linewidth=0.5)  # fmt: skip
        right.annotate(text, (share, lane), (4, 0), textcoords="offset points",
                       va="center", fontsize=TICK, color=INK)  # fmt: skip
    ratio = means[hot] / max(means.mean(), 1e-9)
    load = f"the busiest replica has {ratio:.1f} × the mean load"
    finding = f"{name}: " * bool(name) + load
    found, unit = f"{sum(served):,} requests", "requests"
    if caches:
        found = f"{100 * run.hit_rate:.0f} % of prompt tokens cached{said(guess, '{:g} %')}"
        unit = "% of its prompt tokens"
    dress(left, finding, f"seconds; a full lane is {highest} requests", "replica")
    dress(right, found, unit)
    for axis in (left, right):
        axis.title.set_fontsize(LABEL)
    left.set_yticks(range(run.num_replicas))
    left.set_ylim(run.num_replicas - 0.4, -0.6)
    right.tick_params(axis="y", labelleft=False)
    right.set_xlim(0, 118 if caches else 1.18 * max(served))
    each = ", ".join(f"replica {i}: {n:.1f} requests" for i, n in enumerate(means))
    describe(figure, "A lane of load for each replica, and a bar of what it served.",
             [finding, found, f"Mean load: {each}"])  # fmt: skip
    return figure
