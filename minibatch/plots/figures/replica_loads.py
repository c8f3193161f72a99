"""What each replica had to do over time under a router, and how much of it was cached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from ..colours import INK, WASTE, WORK
from ..picture import TICK, TITLE, Picture, describe, dress

if TYPE_CHECKING:
    from ...simulator.fleet import FleetRun

POINTS = 400  # in time
SOME = 1.5  # a replica with so many times the mean number of requests is hot


def replica_loads(
    run: FleetRun, *, name: str = "", full: int | None = None, worst: bool = False
) -> Figure:
    """A lane for each replica: its requests, waiting and running, over time; beside it a bar: the
    number of its requests and the share of its prompt tokens that were cached, or without caches
    the tokens that it generated. A replica with at least 1.5 times the mean number of requests is
    hot: darker, hatched, and named so.

    name: of the router, for the title. full: requests of a full lane, so that several figures have
    one scale; None is the most of this run. worst: the title is about the moment when a replica has
    the most requests, and a dotted line marks it.
    """
    figure = Picture(figsize=(11, 1.2 + 0.7 * run.num_replicas), layout="constrained",
                     facecolor="white")  # fmt: skip
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    end = float(np.nanmax(run.finish))
    times = np.linspace(0, end, POINTS)
    counts = run.ongoing(times)
    means, highest = counts.mean(axis=1), full or max(1, counts.max())
    is_hot = (means >= SOME * means.mean()) & (run.num_replicas > 1)
    rates = run.hit_rates(np.array([0.0, end + 1]))[:, 0]
    served, has_caches = run.served_by(), run.hit_rate > 0
    tokens = [int(run.output[run.replica == lane].sum()) for lane in range(run.num_replicas)]
    bars = served if has_caches else tokens
    for lane, bar in enumerate(bars):
        marked = bool(is_hot[lane])
        base = lane + 0.4
        left.fill_between(times, base - 0.85 * counts[lane] / highest, base, step="post",
                          color=WASTE if marked else WORK, linewidth=0)  # fmt: skip
        left.axhline(base, color=INK, linewidth=0.5)
        right.barh(lane, bar, height=0.6, color=WASTE if marked else WORK,
                   hatch="//" if marked else "", edgecolor=INK, linewidth=0.5)  # fmt: skip
        words = f"{served[lane]}, {100 * rates[lane]:.0f} % cached" if has_caches else f"{bar:,}"
        words = words if served[lane] else "no requests"
        right.annotate(words, (bar, lane), (4, 0), textcoords="offset points", va="center",
                       fontsize=TICK, color=INK)  # fmt: skip
    ratio = means.max() / max(means.mean(), 1e-9)
    finding = f"the busiest of {run.num_replicas} replicas has {ratio:.1f} × the mean"
    if worst:
        moments = np.sort(run.reached[~np.isnan(run.reached)])
        then = run.ongoing(moments)
        moment = int(then.max(axis=0).argmax())
        finding = f"at the worst moment, one replica has {then[:, moment].max()} of "
        finding += f"{then[:, moment].sum()} requests"
        left.axvline(moments[moment], color=INK, linestyle=":", linewidth=2)
    finding = f"{name}: {finding}" if name else finding
    figure.suptitle(finding, x=0.01, ha="left", fontsize=TITLE, color=INK)
    dress(left, "", "seconds")
    left.set_title(f"requests, waiting and running: at most {counts.max()} at a replica",
                   loc="left", fontsize=TICK, color=INK)  # fmt: skip
    dress(right, "")
    title = "requests" if has_caches else "tokens generated"
    right.set_title(title, loc="left", fontsize=TICK, color=INK)
    lanes = range(run.num_replicas)
    left.set_yticks(lanes, [f"replica {i}{', hot' * bool(is_hot[i])}" for i in lanes])
    left.set_ylim(run.num_replicas - 0.4, -0.6)
    right.tick_params(axis="y", labelleft=False)
    right.set_xlim(0, (2.2 if has_caches else 1.6) * max(1, *bars))
    right.set_xticks([])
    right.spines["bottom"].set_visible(False)
    each = ", ".join(f"replica {i}: {n:.1f} requests" for i, n in enumerate(means))
    describe(figure, "A lane of load for each replica, and a bar of its requests or of its tokens.",
             [finding, f"Mean over time: {each}"])  # fmt: skip
    return figure
