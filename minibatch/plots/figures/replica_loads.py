"""What each replica had to do over time under a router, and what it found in its prefix cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..colours import INK, WASTE, WORK
from ..guesses import said
from ..picture import TICK, TITLE, Picture, describe, dress

if TYPE_CHECKING:
    from ...simulator.fleet import FleetRun

POINTS = 400  # in time
SOME = 1.5  # a replica with so many times the mean number of requests is hot


def replica_loads(
    run: FleetRun, *, name: str = "", guess: str | None = None, full: int | None = None
) -> Figure:
    """A lane for each replica: its requests, waiting and running, over time; beside it a bar: the
    share of its prompt tokens that it found cached, or without caches the number of its requests.
    A replica with at least 1.5 times the mean number is hot: darker, hatched, and named so.

    name: of the router, for the title. guess: the name of a predicted hit rate in percent. full:
    requests of a full lane, so that several figures have one scale; None is the most of this run.
    """
    figure = Picture(figsize=(11, 1.6 + 0.6 * run.num_replicas), layout="constrained",
                     facecolor="white")  # fmt: skip
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    end = float(np.nanmax(run.finish))
    times = np.linspace(0, end, POINTS)
    counts = run.ongoing(times)
    means, highest = counts.mean(axis=1), full or max(1, counts.max())
    is_hot = (means >= SOME * means.mean()) & (run.num_replicas > 1)
    rates = run.hit_rates(np.array([0.0, end + 1]))[:, 0]
    served, has_caches = run.served_by(), run.hit_rate > 0
    for lane in range(run.num_replicas):
        marked = bool(is_hot[lane])
        base = lane + 0.4
        left.fill_between(times, base - 0.85 * counts[lane] / highest, base, step="post",
                          color=WASTE if marked else WORK, linewidth=0)  # fmt: skip
        left.axhline(base, color=INK, linewidth=0.5)
        share = 0.0 if np.isnan(rates[lane]) else 100 * rates[lane]
        bar, words = served[lane], f"{served[lane]}"
        if has_caches:
            bar, words = share, f"{share:.0f} %"
        right.barh(lane, bar, height=0.7, color=WASTE if marked else WORK,
                   hatch="//" if marked else "", edgecolor=INK, linewidth=0.5)  # fmt: skip
        right.annotate(words + ", hot" * marked, (bar, lane), (4, 0), textcoords="offset points",
                       va="center", fontsize=TICK, color=INK)  # fmt: skip
    ratio = means.max() / max(means.mean(), 1e-9)
    found, unit, most = "all replicas got the same number of requests", "requests", max(served)
    if has_caches:
        found = f"{100 * run.hit_rate:.0f} % of all prompt tokens were cached"
        unit, most = "% of prompt\ntokens cached", 100
    elif np.ptp(served):
        found = f"each replica got {served.min()} to {most} requests"
    finding = (
        f"{name}: " * bool(name) + f"the busiest of {run.num_replicas} replicas has {ratio:.1f} × "
        f"the mean number of requests;\n{found}{said(guess, '{:g} %')}"
    )
    figure.suptitle(finding, x=0.01, ha="left", fontsize=TITLE, color=INK)
    dress(left, "", "seconds", "replica")
    rule = f"; hot: ≥ {SOME:g} × the mean" * bool(is_hot.any())
    left.set_title(f"full height: {highest} requests at the same time{rule}", loc="left",
                   fontsize=TICK, color=INK)  # fmt: skip
    dress(right, "", unit)
    lanes = range(run.num_replicas)
    left.set_yticks(lanes, [f"{i}, hot" if is_hot[i] else str(i) for i in lanes])
    left.set_ylim(run.num_replicas - 0.4, -0.6)
    right.tick_params(axis="y", labelleft=False)
    right.set_xlim(0, 1.4 * most)
    right.set_xticks([0, 50, 100] if has_caches else [0, most])
    each = ", ".join(f"replica {i}: {n:.1f} requests" for i, n in enumerate(means))
    describe(figure, "A lane of load for each replica, and a bar of its requests or found tokens.",
             [finding, f"Mean over time: {each}"])  # fmt: skip
    return figure
