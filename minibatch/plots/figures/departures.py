"""Which requests wait, when the batch starts, and what runs then: on an axis of time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...engine.trace import Trace
from ..batches import Batch, batches
from ..colours import BURNT, COLOURS, FAINT, INK, WORK
from ..guesses import mark, said
from ..picture import SMALL, TICK, canvas, describe, dress
from .timeline import by_name

WINDOW = {"facecolor": COLOURS[3], "edgecolor": INK, "hatch": "//"}  # a colour of no protagonist
GAP = 0.3  # between the two lanes, as a share of the panel's height
Span = tuple[float, float]  # of seconds


def departures(
    traces: Trace | Mapping[str, Trace],
    *,
    first: Literal["size", "departure"] | None = None,
    between: Span | None = None,
    first_token_of: str | None = None,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Two lanes on one axis of time. Above: the rows of the batch that runs. Below: the requests
    that wait, by the reason.

    traces: of policies that run a batch to its end; one, or several by name. first: the titles
    state the size of the first batch, or its departure; None: they speak of all batches. between:
    show only these seconds. first_token_of: mark the first token of this request. guess: the name
    of a prediction of the number in the title, for the last panel. ax: one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.8 if len(named) == 1 else 2.4)
    span = between or (0.0, max(trace.steps[-1].end_time for trace in named.values()))
    findings: list[str] = []
    told: list[str] = []  # in the alt text only
    seen: set[str] = set()  # kinds of area that are drawn
    shown = [
        [b for b in batches(trace) if b.ended > span[0] and b.opened < span[1]]
        for trace in named.values()
    ]
    most = max((len(batch.names) for found in shown for batch in found), default=1)
    for axis, (name, trace), found in zip(axes, named.items(), shown, strict=True):
        slots = min(trace.max_batch_size, 8 * math.ceil(most / 8))  # no lane of empty slots only
        for batch in found:
            _draw_rows(axis, batch)
        _draw_queue(axis, trace, found, span, slots)
        if first_token_of:
            told += _mark_first_token(axis, trace, first_token_of, slots)
        seen |= _kinds(found, span)
        last = axis is axes[-1]
        words = (
            _finding_of_first(found[0], first)
            if first
            else _finding_of_all(found, None if between else trace)
        )
        findings.append(f"{name}: {words}" if name else words[0].upper() + words[1:])
        title = findings[-1] + (said(guess) if last else "")
        dress(axis, title, "seconds" if last else "", "")
    axes[0].set_xlim(*span)
    mark(axes[-1], guess, along="y" if first == "size" else "x")
    figure.legend(
        handles=_legend(seen),
        loc="outside lower center",
        ncols=6,
        frameon=False,
        fontsize=TICK,
    )
    describe(figure, "Rows of the running batch and waiting requests by time.", [*findings, *told])
    return figure


def _draw_rows(axis: Axes, batch: Batch) -> None:
    """The rows that the batch computes, step by step: tokens, and padding on top of them."""
    edges = [step.start_time for step in batch.steps] + [batch.ended]
    useful = np.array([step.num_output_tokens for step in batch.steps])
    rows = np.array([len(step.row_values) for step in batch.steps])
    axis.stairs(useful, edges, fill=True, color=WORK)
    axis.stairs(rows, edges, baseline=useful, fill=True, linewidth=0, **BURNT)
    axis.stairs(rows, edges, color=INK, linewidth=1)


def _draw_queue(axis: Axes, trace: Trace, found: list[Batch], span: Span, slots: int) -> None:
    """The lane of the waiting requests: grey while another batch runs, in the window's colour while
    the machine is idle and the policy waits."""
    short = (span[1] - span[0]) / 200  # a shorter wait would look like a mark
    waits = [(c.arrival_time, c.first_scheduled_time) for c in trace.completions]
    waits = [(a, b) for a, b in waits if b - a > short] or waits
    events = [(a, 1) for a, _ in waits] + [(b, -1) for _, b in waits]
    times, changes = (np.array(column) for column in zip(*sorted(events), strict=True))
    waiting = np.cumsum(changes)[:-1]
    most = max(2, int(waiting.max()))
    floor = -most - GAP * (slots + most)
    look = {"facecolor": "#DDDDDD", "edgecolor": FAINT, "hatch": "...", "linewidth": 0}
    axis.stairs(floor + waiting, times, baseline=floor, fill=True, **look)
    for batch in found:
        if _can_be_seen((batch.held_from, batch.departed), span):
            inside = (times > batch.held_from) & (times < batch.departed)
            edges = [batch.held_from, *times[inside], batch.departed]
            before = np.searchsorted(times, edges[:-1], side="right") - 1
            heights = floor + waiting[before]
            axis.stairs(heights, edges, baseline=floor, fill=True, linewidth=0, **WINDOW)
    axis.stairs(floor + waiting, times, baseline=floor, color=INK, linewidth=1)
    axis.hlines([0, floor], *span, color=INK, linewidth=1.2)
    axis.set_ylim(floor, slots + 0.03 * (slots + most))
    step = 4 if slots + most <= 20 else 8 if slots + most <= 56 else 16
    ticks = [(tick, tick) for tick in range(0, slots + 1, step)]
    ticks += [(floor + most, most)]
    axis.set_yticks(*zip(*ticks, strict=True))
    for words, middle in (("rows\nthat run", slots / 2), ("requests\nthat wait", floor + most / 2)):
        axis.annotate(words, (0, middle), (-34, 0), ("axes fraction", "data"), "offset points",
                      ha="right", va="center", fontsize=TICK, color=INK)  # fmt: skip


def _mark_first_token(axis: Axes, trace: Trace, name: str, slots: int) -> list[str]:
    times = [c.first_token_time for c in trace.completions if c.request_id == name]
    for time in times:
        axis.vlines(time, 0, slots, color=INK, linewidth=2.5, zorder=6)
        axis.annotate(f"{name}'s first token", (time, slots), (6, 2), textcoords="offset points",
                      va="top", fontsize=SMALL, color=INK, zorder=6)  # fmt: skip
    return [f"{name}'s first token after {time:.2f} s" for time in times]


def _can_be_seen(part: Span, span: Span) -> bool:
    return min(part[1], span[1]) - max(part[0], span[0]) > (span[1] - span[0]) / 200


def _kinds(found: list[Batch], span: Span) -> set[str]:
    """What the batches draw besides tokens: "padding", "behind a batch", "window"."""
    kinds = {"padding" for batch in found if batch.useful < 1}
    for batch in found:
        if _can_be_seen((batch.opened, batch.held_from), span):
            kinds.add("behind a batch")
        if _can_be_seen((batch.held_from, batch.departed), span):
            kinds.add("window")
    return kinds


def _legend(seen: set[str]) -> list[Artist]:
    """The entries of the legend: padding and waits only if they are drawn."""
    handles: list[Artist] = [Patch(facecolor=WORK, edgecolor=INK, label="yields a token")]
    if "padding" in seen:
        handles.append(Patch(**BURNT, label="padding: waste"))
    if "behind a batch" in seen:
        grey = {"facecolor": "#DDDDDD", "edgecolor": FAINT, "hatch": "..."}
        handles.append(Patch(**grey, label="waits, a batch runs"))
    if "window" in seen:
        handles.append(Patch(**WINDOW, label="waits, machine idle"))
    return handles


def _finding_of_first(batch: Batch, what: str) -> str:
    if what == "departure":
        return f"the first batch starts after {batch.departed:.2f} s"
    number = len(batch.names)
    return f"the first batch has {number} request{'s' * (number > 1)}"


def _finding_of_all(found: list[Batch], trace: Trace | None) -> str:
    sizes = [len(batch.names) for batch in found]
    between = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    many = f"{len(found)} batches" if len(found) > 1 else "one batch"
    requests = "request" if max(sizes) == 1 else "requests"
    if trace is None:
        return f"{many} of {between} {requests}"
    mean = trace.summary()["ttft_mean_s"]
    return f"{many} of {between} {requests}, first token after {mean:.2f} s on average"
