"""Each request's wait for a first token, by arrival time; and which requests were refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...core.completion import Completion
from ...engine.trace import Trace
from ..colours import FAINT, INK, LIMIT, WAITS, WORK
from ..guesses import mark, said
from ..picture import LABEL, TICK, canvas, describe, dress
from .timeline import by_name

WAITED = "#0072B2"
OTHERS = 6  # requests that are drawn beside the marked one


def waits_by_arrival(
    traces: Trace | Mapping[str, Trace],
    *,
    guess: str | None = None,
    marked: str | None = None,
    limit_s: float | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A dot for each request, as high as its TTFT; a tick below for a refused or expired request.

    traces: a trace, or several by name, on a clock of seconds; all have one scale. guess: the name
    of a prediction of the longest TTFT in the first. marked: the id of a served request: then it
    and a few others have a lane each, grey from the arrival to the first token, then blue to the
    last. limit_s: the longest wait that is in time. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.3 if marked else 1.7)
    findings, longest = [], limit_s or 0
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        completions = sorted(trace.completions, key=lambda c: c.arrival_time)
        waits = {c.request_id: c.ttft for c in completions if c.was_served}
        longest = max(longest, *waits.values())
        if marked:
            _draw_lanes(axis, completions, marked)
            own, rest = waits.pop(marked), max(waits.values())
            words = f"{marked} waits {own:.2f} s, every other request at most {rest:.2f} s"
        else:
            _draw_dots(axis, completions)
            words = f"the longest wait is {max(waits.values()):.1f} s"
            if refused := len(completions) - len(waits):
                words += f"; {refused} refused"
        words = f"{name}: {words}" if name else words[0].upper() + words[1:]
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        dress(axis, findings[-1], "", "" if marked else "TTFT, s")
        axis.margins(x=0.01)
    axes[-1].set_xlabel("seconds" if marked else "arrival, seconds", fontsize=LABEL, color=INK)
    if marked:
        first = next(iter(named.values())).completions
        slowest = max((c for c in first if c.was_served), key=lambda c: c.ttft)
        mark(axes[0], guess, start=slowest.arrival_time)
        looks = {"waits for the first token": WAITS, "from first token to last token": WORK}
        keys = [Patch(facecolor=colour, edgecolor=FAINT, label=label)
                for label, colour in looks.items()]  # fmt: skip
        figure.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False,
                      fontsize=TICK)  # fmt: skip
    else:
        for axis in axes:
            axis.set_ylim(-0.16 * longest, 1.08 * max(longest, 1.4 * (limit_s or 0)))
            if limit_s:
                axis.axhline(limit_s, **LIMIT | {"linewidth": 1.2})
        if limit_s:
            axes[0].annotate(f"in time: up to {limit_s:g} s", (0.01, limit_s), (0, 4), va="bottom",
                             xycoords=axes[0].get_yaxis_transform(), textcoords="offset points",
                             fontsize=TICK, color=INK)  # fmt: skip
        mark(axes[0], guess, along="y")
    what = "from its arrival" if marked else "by when it came"
    describe(figure, f"Each request's wait for its first token, {what}.", findings)
    return figure


def _draw_lanes(axis: Axes, completions: Sequence[Completion], marked: str) -> None:
    others = [c.request_id for c in completions if c.request_id != marked]
    shown = {marked, *others[:: -(-len(others) // OTHERS)]}
    drawn = [c for c in completions if c.request_id in shown]
    for lane, c in enumerate(drawn):
        end = c.arrival_time + c.ttft if c.was_served else c.arrival_time
        look = {"height": 0.7, "edgecolor": FAINT, "linewidth": 0.8}
        axis.barh(lane, end - c.arrival_time, left=c.arrival_time, color=WAITS, **look)
        axis.barh(lane, (c.token_times or [end])[-1] - end, left=end, color=WORK, **look)
    axis.set_yticks(range(len(drawn)), [c.request_id for c in drawn])
    axis.tick_params(axis="y", length=0)
    axis.invert_yaxis()


def _draw_dots(axis: Axes, completions: Sequence[Completion]) -> None:
    served = [c for c in completions if c.was_served]
    axis.plot([c.arrival_time for c in served], [c.ttft for c in served], "o", color=WAITED,
              markersize=3)  # fmt: skip
    away = [c.arrival_time for c in completions if not c.was_served]
    axis.plot(away, [0.05] * len(away), "|", color=INK, markersize=8,
              transform=axis.get_xaxis_transform())  # fmt: skip
    if away:
        axis.annotate("refused", (1, 0.05), (6, 0), xycoords="axes fraction", va="center",
                      textcoords="offset points", fontsize=TICK, color=INK)  # fmt: skip
