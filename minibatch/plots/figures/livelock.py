"""Requests that preempt one another: what each has in the pool, step by step."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...engine.trace import Trace
from ..colours import INK, PROTAGONISTS, WASTE, ink_on
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress
from .timeline import by_name


def livelock(
    traces: Trace | Mapping[str, Trace],
    pool: int,
    *,
    steps: int = 250,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Tokens in memory, stacked, an area for each request; hatched where they are computed for a
    second time. A letter above the pool's edge: this request is preempted. A dot: a token
    generated.

    traces: a trace, or several by name, of two or three requests without prefix caching. pool: its
    size in tokens. steps: how many are drawn; the titles count all. guess: the name of a prediction
    of the preemptions in the first. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.1)
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        names = sorted({row.request_id for step in trace.steps for row in step.rows})
        _draw_areas(axis, trace, names, steps)
        _draw_events(axis, trace, steps, pool)
        axis.axhline(pool, color=INK, linewidth=1.5)
        axis.text(steps, pool, " pool\n full", fontsize=TICK, va="center", color=INK)
        if more := max(trace.num_steps - steps, 0):
            axis.text(steps, pool / 2, f" … {more:,}\n more", fontsize=TICK, va="center", color=INK)
        summary = trace.summary()
        counts = f"{summary['output_tokens']} tokens generated in {trace.num_steps:,} steps"
        words = f"{name}: {counts}, {summary['num_preemptions']} preemptions"
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        dress(axis, findings[-1], "step" if axis is axes[-1] else "", "tokens in\nmemory")
        axis.set_xlim(0, steps)
        axis.set_ylim(0, 1.38 * pool)
        axis.set_yticks([0, pool], ["0", f"{pool:,}"])
        axis.spines["left"].set_bounds(0, pool)
    twice = Patch(facecolor="white", edgecolor=INK, hatch="xxx", label="computed a second time")
    gives = Line2D([], [], linestyle="", marker="$A$", color=WASTE, label="gives way")
    speaks = Line2D([], [], linestyle="", marker="o", color=INK, label="a token is generated")
    figure.legend(handles=[twice, gives, speaks], loc="outside lower center", ncols=3,
                  frameon=False, fontsize=TICK)  # fmt: skip
    describe(figure, "Areas: tokens in memory of each request, stacked, by steps.", findings)
    return figure


def _draw_areas(axis: Axes, trace: Trace, names: list[str], steps: int) -> None:
    has, again = dict.fromkeys(names, 0), dict.fromkeys(names, False)
    tops: dict[str, list[int]] = {name: [] for name in names}
    twice: dict[str, list[bool]] = {name: [] for name in names}
    for step in trace.steps[:steps]:
        has |= dict.fromkeys(step.preempted, 0)
        recomputed = dict(step.recomputed)
        for row in step.rows:
            has[row.request_id] += row.num_tokens
        for name in names:
            again[name] = has[name] > 0 and (name in recomputed or again[name])
            tops[name].append(has[name])
            twice[name].append(again[name])
        has |= dict.fromkeys(step.finished, 0)
    bottom = [0] * len(trace.steps[:steps])
    edges = list(range(len(bottom) + 1))
    for name, colour in zip(names, PROTAGONISTS, strict=False):
        top = [low + n for low, n in zip(bottom, tops[name], strict=True)]
        axis.stairs(top, edges, baseline=bottom, fill=True, facecolor=colour, linewidth=0)
        covered = [
            high if on else low for low, high, on in zip(bottom, top, twice[name], strict=True)
        ]
        axis.stairs(covered, edges, baseline=bottom, fill=True, facecolor="none", hatch="xxx",
                    edgecolor=ink_on(colour), linewidth=0)  # fmt: skip
        at = max(range(len(top)), key=lambda i: tops[name][i] * (i < 0.9 * steps))
        paper = {"facecolor": "white", "edgecolor": colour, "pad": 2}
        axis.text(at, (bottom[at] + top[at]) / 2, name, ha="center", va="center", weight="bold",
                  fontsize=LABEL, color=INK, bbox=paper)  # fmt: skip
        bottom = top


def _draw_events(axis: Axes, trace: Trace, steps: int, pool: int) -> None:
    for step in trace.steps[:steps]:
        for name in step.preempted:
            axis.text(step.index, 1.1 * pool, name, ha="center", va="center", fontsize=TICK,
                      weight="bold", color=WASTE)  # fmt: skip
        if step.num_output_tokens:
            axis.plot(step.index + 0.5, 1.27 * pool, "o", color=INK, markersize=4)
