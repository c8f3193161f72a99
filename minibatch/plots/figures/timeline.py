"""Which request held which slot at which step, and for what."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...engine.trace import Trace
from ..colours import BURNT, FADED, HATCHES, INK, WASTE, WORK, ink_on, own_colours
from ..guesses import mark, said
from ..picture import SMALL, TICK, canvas, describe, dress, percent
from ..spans import spans


def timeline(
    traces: Trace | Mapping[str, Trace],
    *,
    highlight: Collection[str] = (),
    guess: str | None = None,
    padding: bool = True,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Which request held which slot, and for what: one panel a trace, on one axis of steps.

    traces: a trace, or several by name. highlight: ids of the one to three requests the picture is
    about. guess: the name of a prediction of the last panel's number of steps. padding:
    whether the titles mention padding. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    num_slots = max(trace.max_batch_size for trace in named.values())
    num_steps = max(len(trace.steps) for trace in named.values())
    figure, axes = canvas(len(named), ax, height=max(0.95, 0.33 * num_slots))
    if ax is None:  # bars of all panels are equally high
        axes[0].get_gridspec().set_height_ratios([t.max_batch_size for t in named.values()])
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        _draw_slots(axis, trace, own_colours(list(highlight)))
        _draw_end(axis, len(trace.steps), num_steps)
        last = axis is axes[-1]
        finding = _finding(name, trace, padding) + (said(guess) if last else "")
        dress(axis, finding, "step (one forward pass)" if last else "", "slot")
    axes[0].set_xlim(0, num_steps)
    mark(axes[-1], guess)
    figure.legend(
        handles=_kinds(named.values()),
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=TICK,
    )
    describe(figure, "Slots by steps.", [_finding(*item, padding) for item in named.items()])
    return figure


def _kinds(traces: Collection[Trace]) -> list[Patch]:
    """The entries of the legend: waste only where there is some. An empty slot is white."""
    kinds = [
        Patch(facecolor=WORK, edgecolor=INK, label="decode"),
        Patch(facecolor=WORK, edgecolor=INK, hatch="////", label="prefill"),
    ]
    found = {row.kind for trace in traces for step in trace.steps for row in step.rows}
    if "padding" in found:
        kinds.append(Patch(**BURNT, label="padding: waste"))
    if "wasted" in found:
        label = "after a stop token: wasted"
        kinds.append(Patch(**BURNT | {"hatch": HATCHES["wasted"]}, label=label))
    return kinds


def by_name(traces: Trace | Mapping[str, Trace]) -> dict[str, Trace]:
    """Several traces by name; a trace alone has the name ""."""
    return {"": traces} if isinstance(traces, Trace) else dict(traces)


def _finding(name: str, trace: Trace, speak_of_padding: bool) -> str:
    """Steps, and how the slots were used: each share is of the same slots in all steps."""
    summary = trace.summary()
    rows = [row for step in trace.steps for row in step.rows]
    places = len(trace.steps) * trace.max_batch_size
    padding = sum(row.kind == "padding" for row in rows)
    parts = [f"{summary['num_steps']:,} steps"]
    if speak_of_padding and padding:
        parts.append(f"{percent(padding / places)} of slots padding")
    elif speak_of_padding:
        parts.append("no padding rows")
    if summary["num_wasted_rows"]:
        wasted = f"{summary['num_wasted_rows']:,} row{'s' * (summary['num_wasted_rows'] > 1)}"
        parts.append(f"{wasted} after a stop token")
    empty = places - len(rows)
    if empty > 0.005 * places and not (speak_of_padding and padding):
        parts.append(f"{percent(empty / places)} of slots empty")
    return f"{name}: " * bool(name) + ", ".join(parts)


def _draw_slots(axis: Axes, trace: Trace, own: Mapping[str, str]) -> None:
    """own: colours of the requests that are highlighted."""
    num_steps = max(len(trace.steps), 1)
    for span in spans(trace.steps):
        width = span.end - span.start
        wasted = span.kind in ("padding", "wasted")
        colour = WASTE if wasted else own.get(span.request_id, WORK)
        style = {"facecolor": colour, "edgecolor": "white", "linewidth": 1.2}
        if span.kind != "decode":
            edge = FADED if wasted else ink_on(colour)
            frame = 0.8 if width >= num_steps / 100 else 0  # a thinner bar would be only frame
            style |= {"hatch": HATCHES[span.kind], "edgecolor": edge, "linewidth": frame}
        axis.barh(span.slot, width, left=span.start, height=0.86, **style)
        if span.kind == "decode" and width >= num_steps / 40:
            look = {"ha": "center", "va": "center", "fontsize": SMALL, "color": ink_on(colour)}
            axis.text(span.start + width / 2, span.slot, span.request_id, **look)
    axis.set_ylim(trace.max_batch_size - 0.4, -0.6)  # slot 0 on top
    axis.set_yticks(range(trace.max_batch_size))


def _draw_end(axis: Axes, end: int, num_steps: int) -> None:
    """Grey after the last step: these slots are not empty; the run is over."""
    bottom, top = axis.get_ylim()
    if end < num_steps:
        axis.fill_between([end, num_steps], bottom, top, color="#EEEEEE", linewidth=0, zorder=0)
    if num_steps - end > num_steps / 12:
        look = {"ha": "center", "va": "center", "fontsize": TICK, "color": INK}
        axis.text((end + num_steps) / 2, (bottom + top) / 2, "all done", **look)
