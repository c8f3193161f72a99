"""How long each request waits: for a slot, for its first token, for its last."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.completion import Completion
from ...engine.trace import Trace
from ..colours import EMPTY, FAINT, INK, WORK, ink_on, own_colours
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress
from .timeline import by_name


def waits(
    traces: Trace | Mapping[str, Trace],
    *,
    highlight: Collection[str] = (),
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """From arrival: the wait for a slot, then to the first token (TTFT), then to the last one.

    traces: a trace, or several by name. highlight: ids of the one to three requests with their own
    colours. guess: the name of a prediction of a moment in the last panel, in seconds. ax: where to
    draw, one Axes a trace. Requests are drawn in order of arrival; aborted ones are left out.
    """
    own = own_colours(list(highlight))
    named = by_name(traces)
    number = max(len(trace.completions) for trace in named.values())
    figure, axes = canvas(len(named), ax, height=max(1.8, number * (0.32 if number <= 16 else 0.2)))
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        done = [c for c in trace.completions if c.was_served]
        done.sort(key=lambda c: (c.arrival_time, c.first_scheduled_time))
        for y, completion in enumerate(done):
            queued = completion.first_scheduled_time - completion.arrival_time
            colour = own.get(completion.request_id, WORK)
            bar = {"height": 0.8, "edgecolor": ink_on(colour), "linewidth": 0.5}
            axis.barh(y, queued, facecolor=EMPTY, hatch="...", **bar | {"edgecolor": FAINT})
            first = completion.ttft - queued
            axis.barh(y, first, left=queued, facecolor=colour, hatch="////", **bar)
            rest = completion.e2e - completion.ttft
            axis.barh(y, rest, left=completion.ttft, facecolor=colour, **bar)
        axis.set_yticks(range(len(done)), [c.request_id for c in done])
        axis.set_ylim(len(done) - 0.4, -0.6)
        last = axis is axes[-1]
        about = [c for c in done if c.request_id in own] if len(own) == 1 else []
        finding = _finding(name, trace, about)
        findings.append(finding + (said(guess, "{:.3g} s") if last else ""))
        dress(axis, findings[-1], "seconds since the request arrived" if last else "", "request")
        if len(done) > 16:
            axis.tick_params(axis="y", labelsize=9)
    axes[0].set_xlim(0, None)
    mark(axes[-1], guess)
    _legend(figure, axes[0])
    describe(figure, "Bars: each request's wait, by part.", findings)
    return figure


def _legend(figure: Figure, axis: Axes) -> None:
    grey = {"edgecolor": INK, "facecolor": WORK, "linewidth": 0.5}
    handles = [
        axis.barh(
            [0],
            [0],
            label="queue wait: until the start",
            **grey | {"facecolor": EMPTY},
            hatch="...",
        ),
        axis.barh([0], [0], label="prefill: until the first token", **grey, hatch="////"),
        axis.barh([0], [0], label="decode: until the last token", **grey),
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=TICK
    )


def _finding(name: str, trace: Trace, about: list[Completion]) -> str:
    """The finding about the one highlighted request; otherwise about the average of all."""
    if about:
        (one,) = about
        queued = one.first_scheduled_time - one.arrival_time
        words = f"{one.request_id}'s first token comes after {one.ttft:.2f} s; {queued:.2f} s"
    else:
        summary = trace.summary()
        words = f"the first token comes after {summary['ttft_mean_s']:.2f} s on average; "
        words += f"{summary['queue_mean_s']:.2f} s"
    words += " of this is queue wait"
    return f"{name}: {words}" if name else words[0].upper() + words[1:]
