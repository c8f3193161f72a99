"""Everybody's wait for a first token, by when they came; and who was turned away."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...engine.trace import Trace
from ..colours import INK, PROTAGONISTS, WASTE
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress
from .timeline import by_name

PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1, "alpha": 0.8}


def waits_by_arrival(
    traces: Trace | Mapping[str, Trace],
    *,
    guess: str | None = None,
    marked: str | None = None,
    limit_s: float | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A dot for each request: across, when it came; upwards, its TTFT; a cross on the floor for who
    was refused or given up.

    traces: a trace, or several by name, on a clock of seconds. guess: the name of a prediction of
    the longest TTFT in the first. marked: the id of one who was served, a diamond. limit_s: up to
    where a wait is in time, a line. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=1.75)
    findings, longest = [], 0.0
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        served = [c for c in trace.completions if c.was_served]
        others = [c for c in trace.completions if not c.was_served]
        waits = np.array([c.ttft for c in served])
        longest = max(longest, waits.max())
        axis.plot([c.arrival_time for c in served], waits, "o", color="#0072B2", markersize=3)
        axis.plot([c.arrival_time for c in others], [0] * len(others), "x", color=WASTE,
                  markersize=6, markeredgewidth=1.5, zorder=4)  # fmt: skip
        words = f"median TTFT {np.median(waits):.1f} s, the longest {waits.max():.1f} s"
        if marked:
            (one,) = (c for c in served if c.request_id == marked)
            rest = max(c.ttft for c in served if c is not one)
            words = f"{marked} waits {one.ttft:.2f} s, of the others nobody more than {rest:.2f} s"
            axis.plot(one.arrival_time, one.ttft, "D", color=PROTAGONISTS[0], markersize=11,
                      markeredgecolor=INK, zorder=5, clip_on=False)  # fmt: skip
            latest = max(c.arrival_time for c in trace.completions)
            aside = -14 if one.arrival_time > 0.1 * latest else 14  # clear of the axis
            look = {"ha": "right" if aside < 0 else "left", "va": "center", "weight": "bold"}
            axis.annotate(marked, (one.arrival_time, one.ttft), (aside, -1), fontsize=TICK,
                          color=INK, textcoords="offset points", **look)  # fmt: skip
        if others:
            words += f"; {len(others)} of {len(trace.completions)} turned away"
        words = f"{name}: {words}" if name else words
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        x = "when they came, seconds" if axis is axes[-1] else ""
        dress(axis, findings[-1], x, "TTFT, s")
        axis.margins(x=0.01)
    for axis in axes:
        axis.set_ylim(-0.09 * longest, 1.08 * longest)
        axis.axhline(0, color=INK, linewidth=0.6)
        if limit_s is not None:
            axis.axhline(limit_s, color=INK, linewidth=1.2, linestyle=(0, (6, 3)))
            axis.annotate(f"in time: up to {limit_s:g} s", (1, limit_s), (-2, 3), ha="right",
                          xycoords=axis.get_yaxis_transform(), textcoords="offset points",
                          fontsize=TICK, color=INK, bbox=PAPER)  # fmt: skip
    mark(axes[0], guess, along="y")
    if not all(c.was_served for trace in named.values() for c in trace.completions):
        cross = Line2D([], [], linestyle="", marker="x", color=WASTE, markeredgewidth=1.5)
        figure.legend([cross], ["turned away, or given up"], loc="outside lower center",
                      frameon=False, fontsize=TICK)  # fmt: skip
    describe(figure, "Dots: each request's wait for its first token, by when it came.", findings)
    return figure
