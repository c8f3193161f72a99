"""Each request's wait for a first token, by arrival time; and which requests were refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator

from ...core.completion import Completion
from ...engine.trace import Trace
from ..colours import INK, LIMIT, WASTE, WORK, own_colours
from ..guesses import mark, said
from ..picture import LABEL, TICK, canvas, describe, dress
from .timeline import by_name

WAITS = WORK
AWAY = {"color": WASTE, "linestyle": "", "marker": "|", "markersize": 9, "markeredgewidth": 1.4}
SERVED = "#D6D6D6"  # from the first token to the last


def waits_by_arrival(
    traces: Trace | Mapping[str, Trace],
    *,
    guess: str | None = None,
    marked: str | None = None,
    limit_s: float | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A bar for each request, as long as its TTFT; a tick for a refused or expired request.

    traces: a trace, or several by name, on a clock of seconds. guess: the name of a prediction of
    the longest TTFT in the first. marked: the id of a served request, in a trace of few: then each
    request has a lane, and its bar runs from its arrival to its first token, then grey to its last.
    Otherwise bars are at the arrival times. limit_s: the longest wait that is in time; later ones
    have another colour. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.3 if marked else 1.85)
    findings, longest = [], []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        completions = sorted(trace.completions, key=lambda c: c.arrival_time)
        waits = {c.request_id: c.ttft for c in completions if c.was_served}
        refused = len(completions) - len(waits)
        longest.append(max(*waits.values(), limit_s or 0))
        if marked:
            _draw_lanes(axis, completions, marked)
            own, rest = waits.pop(marked), max(waits.values())
            words = f"{marked} waits {own:.2f} s, every other request at most {rest:.2f} s"
        else:
            _draw_bars(axis, completions, limit_s)
            most = max(waits.values())
            words = f"median TTFT {median(waits.values()):.1f} s, the longest {most:.1f} s"
        if refused:
            words += f"; {refused} of {len(completions)} refused"
        words = f"{name}: {words}" if name else words
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        dress(axis, findings[-1], "", "requests" if marked else "TTFT, s")
    own_scales = not marked and max(longest) > 2 * min(longest)
    across = "seconds; requests in order of arrival"
    if not marked:
        across = "arrival, seconds" + " (each panel has its own TTFT scale)" * own_scales
    axes[-1].set_xlabel(across, fontsize=LABEL, color=INK)
    if marked:
        first = next(iter(named.values())).completions
        slowest = max((c for c in first if c.was_served), key=lambda c: c.ttft)
        mark(axes[0], guess, start=slowest.arrival_time)
    else:
        longest = longest if own_scales else [max(longest)] * len(axes)
        _scale(axes, longest, limit_s)
        mark(axes[0], guess, along="y")
    _legend(figure, named, limit_s, marked)
    what = "from its arrival" if marked else "by when it came"
    describe(figure, f"Bars: each request's wait for its first token, {what}.", findings)
    return figure


def _draw_lanes(axis: Axes, completions: Sequence[Completion], marked: str) -> None:
    top, last = 0.0, max(c.arrival_time + (c.ttft if c.was_served else 0) for c in completions)
    for c in completions:
        own = c.request_id == marked
        high = len(completions) / 10 if own else 1
        lane, top = top + high / 2, top + high
        begin, end = c.arrival_time, c.arrival_time + (c.ttft if c.was_served else 0)
        axis.plot(begin, lane, "|", color=INK, markersize=3)
        axis.barh(lane, end - begin, left=begin, height=0.9 * high,
                  color=own_colours([marked])[marked] if own else WAITS)  # fmt: skip
        done = c.token_times[-1] if c.was_served else end
        low = lane - 0.45 * high, 0.9 * high
        axis.broken_barh([(end, done - end)], low, facecolor=SERVED, edgecolor=INK, linewidth=0.4)
        if own:
            place, shift, ha, va = (done, lane), (6, 0), "left", "center"
            if begin > 0.15 * last:  # there is room on its left
                place, shift, ha = (begin, lane), (-6, 0), "right"
            elif done > 0.6 * last:  # and none on its right
                place, shift, ha, va = (done, lane + high / 2), (0, -3), "right", "top"
            axis.annotate(f"{marked}, {end - begin:.2f} s", place, shift, ha=ha, va=va,
                          textcoords="offset points", weight="bold", fontsize=TICK, color=INK,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip
    axis.set_ylim(top, -0.04 * top)
    axis.set_yticks([])
    axis.margins(x=0.01)


def _draw_bars(axis: Axes, completions: Sequence[Completion], limit_s: float | None) -> None:
    first, last = completions[0].arrival_time, completions[-1].arrival_time
    width = 0.9 * (last - first) / len(completions)
    served = [c for c in completions if c.was_served]
    for is_late, colour in ((False, WAITS), (True, WASTE)):
        some = [c for c in served if (limit_s is not None and c.ttft > limit_s) == is_late]
        axis.bar([c.arrival_time for c in some], [c.ttft for c in some], width, color=colour)
    away = [c.arrival_time for c in completions if not c.was_served]
    axis.plot(away, [0.06] * len(away), **AWAY, transform=axis.get_xaxis_transform())
    axis.margins(x=0.01)


def _scale(axes: Sequence[Axes], longest: Sequence[float], limit_s: float | None) -> None:
    """Set the scale of each axis, for its longest wait."""
    for axis, top in zip(axes, longest, strict=True):
        if limit_s:
            axis.axhline(limit_s, **LIMIT | {"linewidth": 1.2})
            step = limit_s / 2 if top < 2 * limit_s else limit_s * max(1, round(top / limit_s / 4))
            axis.yaxis.set_major_locator(MultipleLocator(step))
        axis.set_ylim(-0.15 * top, 1.1 * top)  # ticks of the refused are below
        axis.axhline(0, color=INK, linewidth=0.6)


def _legend(
    figure: Figure, named: Mapping[str, Trace], limit_s: float | None, marked: str | None
) -> None:
    keys = []
    if marked:
        served = Patch(facecolor=SERVED, edgecolor=INK, label="from first token to last token")
        keys = [Patch(color=WAITS, label="waits for the first token"), served]
    if limit_s:
        keys = [
            Patch(color=WAITS, label=f"in time: up to {limit_s:g} s"),
            Patch(color=WASTE, label="late"),
        ]
    if not all(c.was_served for trace in named.values() for c in trace.completions):
        keys.append(Line2D([], [], label="refused or dropped", **AWAY))
    if keys:
        figure.legend(handles=keys, loc="outside lower center", ncols=3, frameon=False,
                      fontsize=TICK)  # fmt: skip
