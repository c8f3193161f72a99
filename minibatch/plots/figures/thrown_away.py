"""Tokens in memory by request, step by step: which were preempted and computed again."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...engine.trace import Trace
from ..colours import INK, WASTE, WORK
from ..guesses import said
from ..picture import TICK, canvas, describe, dress
from .timeline import by_name

PREEMPTED = {"color": INK, "marker": "x", "markersize": 9, "markeredgewidth": 2}


def thrown_away(
    traces: Trace | Mapping[str, Trace],
    *,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A lane for each request; its height is the number of tokens in memory. A cross: the request
    is preempted. Tokens computed for a second time have another colour.

    traces: a trace, or several by name, of runs without prefix caching and with few requests.
    guess: the name of a prediction of all tokens computed again in the first trace. ax: where to
    draw, one Axes a trace.
    """
    named = by_name(traces)
    lanes = {name: lanes_of(trace) for name, trace in named.items()}
    highest = max(max(n for _, n, _ in points) for run in lanes.values() for points in run.values())
    figure, axes = canvas(len(named), ax, height=0.5 + 0.42 * len(next(iter(lanes.values()))))
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        for place, (request_id, points) in enumerate(lanes[name].items()):
            draw_lane(axis, place + 0.95, points, 0.9 / highest)
            lost = [step.index for step in trace.steps if request_id in step.preempted]
            axis.plot(lost, [place + 0.7] * len(lost), **PREEMPTED, linestyle="")
        words = f"{trace.summary()['recomputed_tokens']:,} tokens are recomputed"
        words = f"{name}: {words}" if name else words
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        dress(axis, findings[-1], "step" if axis is axes[-1] else "")
        axis.set_yticks([place + 0.7 for place in range(len(lanes[name]))], list(lanes[name]))
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.set_ylim(-0.15, len(lanes[name]) + 0.05)
        axis.invert_yaxis()
        axis.margins(x=0.02)
    figure.legend(
        handles=[
            Patch(facecolor=WORK, edgecolor=INK, label="tokens in memory"),
            Patch(facecolor=WASTE, edgecolor=INK, label="computed again"),
            Line2D([], [], **PREEMPTED, linestyle="", label="preempted"),
        ],
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=TICK,
    )
    describe(figure, "A lane for each request; its height is its tokens in memory.", findings)
    return figure


Points = list[tuple[int, int, int]]


def lanes_of(trace: Trace, steps: int | None = None) -> dict[str, Points]:
    """For each request: step, tokens in memory after it, and how many were computed again. steps:
    only the first so many."""
    lanes: dict[str, Points] = {}
    has: dict[str, int] = {}
    for step in trace.steps[:steps]:
        again = dict(step.recomputed)
        for name in step.preempted:
            has[name] = 0
            lanes[name].append((step.index, 0, 0))
        for row in step.rows:
            has[row.request_id] = has.get(row.request_id, 0) + row.num_tokens
            point = step.index + 1, has[row.request_id], again.get(row.request_id, 0)
            lanes.setdefault(row.request_id, [(step.index, 0, 0)]).append(point)
        for name in step.finished:
            lanes[name].append((step.index + 1, 0, 0))
    return dict(sorted(lanes.items()))


def draw_lane(axis: Axes, floor: float, points: Points, scale: float) -> None:
    """Draw one lane, and in another colour each piece that was computed twice. scale: height of a
    token."""
    pieces: list[tuple[bool, list[int], list[float]]] = []  # computed twice? steps, tops
    for (x0, n0, _), (x1, n1, again) in pairwise(points):
        if x1 == x0 or n1 == 0:
            pieces.append((False, [], []))  # it was preempted, or has finished
            continue
        if not pieces or not pieces[-1][1] or pieces[-1][0] != bool(again) or x1 - x0 > 1:
            pieces.append((bool(again), [x1 - 1], [n0 if x1 - x0 == 1 else 0]))
        _, xs, tops = pieces[-1]
        xs.append(x1)
        tops.append(n1)
    for twice, xs, tops in pieces:
        heights = [floor - scale * n for n in tops]
        axis.fill_between(xs, heights, floor, color=WASTE if twice else WORK, linewidth=0)
