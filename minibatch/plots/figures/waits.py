"""How long each request waits: for a slot, for its first token, for its last."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import FAINT, INK, colour_of
from ..picture import TICK, canvas, describe, dress
from .timeline import by_name


def waits(traces: Trace | Mapping[str, Trace], *, ax: Axes | list[Axes] | None = None) -> Figure:
    """From arrival: the wait for a slot, on to the first token (TTFT), on to the last one.

    traces: a trace, or several by name. ax: where to draw, one Axes a trace. Requests are drawn in
    order of arrival; aborted ones are left out.
    """
    named = by_name(traces)
    number = max(len(trace.completions) for trace in named.values())
    figure, axes = canvas(len(named), ax, height=max(1.8, number * (0.32 if number <= 16 else 0.2)))
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        done = [c for c in trace.completions if c.finish_reason != "abort"]
        done.sort(key=lambda c: (c.arrival_time, c.first_scheduled_time))
        for y, completion in enumerate(done):
            queued = completion.first_scheduled_time - completion.arrival_time
            colour = colour_of(completion.request_id)
            bar = {"height": 0.8, "edgecolor": INK, "linewidth": 0.5}
            axis.barh(y, queued, facecolor="white", hatch="...", **bar | {"edgecolor": FAINT})
            first = completion.ttft - queued
            axis.barh(y, first, left=queued, facecolor=colour, hatch="////", **bar)
            rest = completion.e2e - completion.ttft
            axis.barh(y, rest, left=completion.ttft, facecolor=colour, **bar)
        axis.set_yticks(range(len(done)), [c.request_id for c in done])
        axis.set_ylim(len(done) - 0.4, -0.6)
        findings.append(_finding(name, trace))
        last = axis is axes[-1]
        dress(axis, findings[-1], "seconds since it arrived" if last else "", "request")
        if len(done) > 16:
            axis.tick_params(axis="y", labelsize=9)
    axes[0].set_xlim(0, None)
    _legend(figure, axes[0])
    describe(figure, "Bars: each request's wait, by part.", findings)
    return figure


def _legend(figure: Figure, axis: Axes) -> None:
    grey = {"edgecolor": INK, "facecolor": "#CCCCCC", "linewidth": 0.5}
    handles = [
        axis.barh([0], [0], label="waits for a slot", **grey | {"facecolor": "white"}, hatch="..."),
        axis.barh([0], [0], label="to its first token", **grey, hatch="////"),
        axis.barh([0], [0], label="to its last token", **grey),
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=TICK
    )


def _finding(name: str, trace: Trace) -> str:
    summary = trace.summary()
    words = (
        f"first token after {summary['ttft_mean_s']:.2f} s on average, "
        f"{summary['queue_mean_s']:.2f} s of it in the queue"
    )
    return f"{name}: {words}" if name else words[0].upper() + words[1:]
