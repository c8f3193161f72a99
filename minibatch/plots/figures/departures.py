"""Which requests wait, when the batch leaves, and what runs then: on an axis of time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from ...engine.trace import Trace
from ..batches import Batch, batches
from ..colours import FADED, FAINT, HATCHES, INK, PROTAGONISTS, WASTE, WORK
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress
from .timeline import by_name

WINDOW = PROTAGONISTS[0]


def departures(
    traces: Trace | Mapping[str, Trace],
    *,
    first: Literal["size", "departure"] | None = None,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Above the line: the rows of the running batch. Below it: the waiting requests. Under them: a
    bracket for each batch, from its first arrival to its departure, and a tick for each arrival.

    traces: of policies that run a batch to its end; one, or several by name. first: the titles
    state the size of the first batch, or its departure; None: they speak of all batches. guess: the
    name of a prediction of that number, for the last panel. ax: one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.8 if len(named) == 1 else 2.4)
    end = max(trace.steps[-1].end_time for trace in named.values())
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        found = list(batches(trace))
        for batch in found:
            _draw_rows(axis, batch, trace.max_batch_size, end)
        waiting = _draw_queue(axis, trace)
        _draw_brackets(axis, trace, found, waiting)
        last = axis is axes[-1]
        words = _finding_of_first(found[0], first) if first else _finding_of_all(trace, found)
        findings.append(f"{name}: {words}" if name else words[0].upper() + words[1:])
        dress(
            axis,
            findings[-1] + (said(guess) if last else ""),
            "seconds" if last else "",
            "wait | run",
        )
    axes[0].set_xlim(0, end)
    mark(axes[-1], guess, along="y" if first == "size" else "x")
    figure.legend(
        handles=_legend(named.values(), end),
        loc="outside lower center",
        ncols=6,
        frameon=False,
        fontsize=TICK,
        columnspacing=1.0,
    )
    describe(figure, "Rows of the batch, the queue and the windows by time.", findings)
    return figure


def _draw_rows(axis: Axes, batch: Batch, slots: int, end: float) -> None:
    """The rows that the batch computes, step by step: tokens, and padding on top of them."""
    edges = [step.start_time for step in batch.steps] + [batch.ended]
    useful = np.array([step.num_output_tokens for step in batch.steps])
    rows = np.array([len(step.row_values) for step in batch.steps])
    axis.stairs(useful, edges, fill=True, color=WORK)
    burnt = {"facecolor": WASTE, "edgecolor": FADED, "hatch": HATCHES["padding"], "linewidth": 0}
    axis.stairs(rows, edges, baseline=useful, fill=True, **burnt)
    axis.stairs(rows, edges, color=INK, linewidth=1)
    wasted = int((rows - useful).sum())
    if wasted and batch.ended - batch.departed > end / 8 and rows.max() >= slots / 4:
        words, look = f"{wasted:,} padding", {"ha": "center", "fontsize": 11, "color": INK}
        if rows.max() > 0.6 * slots:
            box = {"facecolor": "white", "edgecolor": WASTE, "boxstyle": "round,pad=0.2"}
            at = batch.departed + 0.66 * (batch.ended - batch.departed)
            axis.text(at, rows.max() * 0.72, words, bbox=box, va="center", **look)
        else:  # a white box would hide the rows that it counts
            at = (batch.departed + batch.ended) / 2
            axis.text(at, rows.max() + 0.04 * slots, words, va="bottom", **look)


def _draw_queue(axis: Axes, trace: Trace) -> int:
    """The waiting requests as an area below the line; returns the largest number of them."""
    events = [(c.arrival_time, 1) for c in trace.completions]
    events += [(c.first_scheduled_time, -1) for c in trace.completions]
    times, changes = zip(*sorted(events), strict=True)
    waiting = np.cumsum(changes)[:-1]
    look = {"facecolor": "#DDDDDD", "edgecolor": FAINT, "hatch": "...", "linewidth": 0}
    axis.stairs(-waiting, times, fill=True, **look)
    axis.stairs(-waiting, times, color=FAINT, linewidth=1)
    axis.axhline(0, color=INK, linewidth=1.2)
    return int(waiting.max())


def _draw_brackets(axis: Axes, trace: Trace, found: list[Batch], waiting: int) -> None:
    """Arrivals, and for each batch how long it was open: thin while the machine was busy, bold
    while the machine was idle and the policy waited. Below the longest queue."""
    slots = trace.max_batch_size
    unit = (slots + waiting) / 14
    level = -waiting - 1.2 * unit
    for batch in found:
        axis.plot([batch.opened, batch.departed], [level, level], color=FAINT, linewidth=1.5)
        ends = [level - 0.5 * unit, level + 0.5 * unit]
        axis.plot([batch.departed] * 2, ends, color=INK, linewidth=1.5)
        held = batch.departed - batch.held_from
        bar = {"height": 0.9 * unit, "facecolor": WINDOW, "edgecolor": INK, "linewidth": 0.8}
        axis.barh(level, held, left=batch.held_from, **bar)
    times = [c.arrival_time for c in trace.completions]
    axis.vlines(times, level - 2 * unit, level - unit, color=INK, linewidth=1.5)
    axis.set_ylim(level - 2.3 * unit, slots + 0.5 * unit)
    step = 4 if slots + waiting <= 20 else 8
    ticks = range(-(waiting // step) * step, slots + 1, step)
    axis.set_yticks(ticks, [str(abs(tick)) for tick in ticks])


def _legend(traces: Collection[Trace], end: float) -> list[Artist]:
    """The entries of the legend: a window only if one is visible."""
    found = [batch for trace in traces for batch in batches(trace)]
    handles: list[Artist] = [Patch(facecolor=WORK, edgecolor=INK, label="yields a token")]
    if any(batch.useful < 1 for batch in found):
        handles.append(Patch(facecolor=WASTE, edgecolor=INK, hatch="xx", label="padding: waste"))
    handles += [
        Patch(facecolor="#DDDDDD", edgecolor=FAINT, hatch="...", label="waits"),
        Line2D([], [], color=INK, marker="|", markersize=11, linestyle="", label="arrival"),
        Line2D([], [], color=FAINT, linewidth=1.5, label="open: machine busy"),
    ]
    if any(batch.departed - batch.held_from > end / 200 for batch in found):
        label = "window: machine idle"
        handles.append(Patch(facecolor=WINDOW, edgecolor=INK, label=label))
    return handles


def _finding_of_first(batch: Batch, what: str) -> str:
    if what == "departure":
        return f"the first batch leaves after {batch.departed:.2f} s"
    number = len(batch.names)
    return f"the first batch holds {number} request{'s' * (number > 1)}"


def _finding_of_all(trace: Trace, found: list[Batch]) -> str:
    sizes = [len(batch.names) for batch in found]
    between = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    many = f"{len(found)} batches" if len(found) > 1 else "one batch"
    mean = trace.summary()["ttft_mean_s"]
    return f"{many} of {between}, first token after {mean:.2f} s on average"
