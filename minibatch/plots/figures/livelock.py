"""Requests that preempt one another: what each has in memory, step by step."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...engine.trace import Trace
from ..colours import INK, WASTE, WORK
from ..guesses import said
from ..picture import TICK, canvas, describe, dress
from .thrown_away import draw_lane, lanes_of
from .timeline import by_name

TOP, FLOOR = 0.3, 0.95  # of a lane's tallest piece, from above: the dots are over it


def livelock(
    traces: Trace | Mapping[str, Trace],
    *,
    steps: int = 250,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A lane for each request; its height is the number of tokens in memory. It ends where the
    request is preempted. Solid: tokens computed for a second time. A dot: a generated token.

    traces: a trace, or several by name, of two or three requests without prefix caching. steps: how
    many are drawn; the titles count all. guess: the name of a prediction of the preemptions in the
    first. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    lanes = {name: lanes_of(trace, steps) for name, trace in named.items()}
    highest = max(max(n for _, n, _ in points) for run in lanes.values() for points in run.values())
    figure, axes = canvas(len(named), ax, height=0.5 + 0.55 * len(next(iter(lanes.values()))))
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        for place, (request_id, points) in enumerate(lanes[name].items()):
            draw_lane(axis, place + FLOOR, points, (FLOOR - TOP) / highest)
            spoken = [
                step.index + 0.5
                for step in trace.steps[:steps]
                if any(row.request_id == request_id and row.token_ids for row in step.rows)
            ]
            axis.plot(spoken, [place + TOP / 2] * len(spoken), "o", color=INK, markersize=4)
        if more := max(trace.num_steps - steps, 0):
            axis.text(
                steps + 2, 1, f"… {more:,}\nmore steps", fontsize=TICK, va="center", color=INK
            )
        summary = trace.summary()
        counts = f"{summary['num_preemptions']} preemptions, {summary['output_tokens']} tokens"
        words = f"{name}: {counts} generated"
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        dress(axis, findings[-1], "step" if axis is axes[-1] else "")
        axis.set_xlim(0, steps)
        axis.set_ylim(len(lanes[name]) + 0.05, -0.05)
        axis.set_yticks([place + (TOP + FLOOR) / 2 for place in range(len(lanes[name]))],
                        list(lanes[name]))  # fmt: skip
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
    first = Patch(facecolor=WORK, edgecolor=INK, label="tokens in memory")
    twice = Patch(facecolor=WASTE, edgecolor=INK, label="computed again")
    dot = Line2D([], [], linestyle="", marker="o", color=INK, label="a token is generated")
    figure.legend(handles=[first, twice, dot], loc="outside lower center", ncols=3, frameon=False,
                  fontsize=TICK)  # fmt: skip
    describe(figure, "A lane for each request, as high as it has tokens in memory.", findings)
    return figure
