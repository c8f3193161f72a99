"""What the CPU and the model do during a few steps, and when the model waits for the CPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...core.records import Lane, StepRecord
from ...engine.trace import Trace
from ..colours import INK, PROTAGONISTS, WAITS, WORK, ink_on
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress, percent
from .timeline import by_name

CPU, MODEL = 1, 0  # heights of the two lanes
COLLECT, PLAN = PROTAGONISTS[1], PROTAGONISTS[2]


def two_lanes(
    traces: Trace | Mapping[str, Trace],
    *,
    first: int = 4,
    num_steps: int = 5,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Two lanes for each trace, on one axis of milliseconds: the CPU plans, launches and collects
    steps; the model computes them. A grey dotted bar in the model's lane is time in which it waits.

    traces: a trace, or several by name, such as a run without and a run with overlap. first: index
    of the step at which each panel begins. num_steps: how many of the first trace's steps the
    panels are long. guess: the name of a prediction of the first panel's share of waiting, in
    percent. ax: where to draw, one Axes a trace. Raises ValueError if a trace has too few steps.
    """
    named = by_name(traces)
    for name, trace in named.items():
        if len(trace.steps) < first + num_steps + 1:
            raise ValueError(
                f"the trace {name!r} has {len(trace.steps)} steps, and steps {first} to "
                f"{first + num_steps} were requested; lower first or num_steps"
            )
    figure, axes = canvas(len(named), ax, height=1.55)
    start = next(iter(named.values())).steps[first : first + num_steps + 1]
    window = start[-1].times.forward[0] - start[0].times.forward[0]
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        begin = trace.steps[first].times.forward[0]
        waited = _draw(axis, trace.steps[first:], (begin, begin + window))
        last = axis is axes[-1]
        ended = sum(step.times.forward[1] <= begin + window + 1e-9 for step in trace.steps[first:])
        share = f"the model waits {percent(waited / window)} of the time"
        share += said(guess, "{:.0f} %") * (axis is axes[0])
        findings.append(
            f"{name}: " * bool(name) + f"{ended} steps in {window * 1e3:.3g} ms; {share}"
        )
        dress(axis, findings[-1], "ms" if last else "")
        axis.set_yticks([MODEL, CPU], ["model", "CPU"], fontsize=LABEL)
        axis.set_ylim(-0.55, 1.55)
        axis.set_xlim(-0.02 * window * 1e3, window * 1e3)
    steps = [step for trace in named.values() for step in trace.steps]
    figure.legend(handles=_kinds(steps), loc="outside lower center", ncols=4, frameon=False,
                  fontsize=TICK)  # fmt: skip
    describe(figure, f"Lanes of CPU and model, {window * 1e3:.3g} ms.", findings)
    return figure


def _draw(axis: Axes, steps: list[StepRecord], window: Lane) -> float:
    """Draw what these steps did in the window; returns the seconds in it that the model waited."""
    waited, free = 0.0, window[0]
    for step in steps:
        times = step.times
        _bar(axis, CPU, (times.plan[0], times.launch[1]), window, PLAN, step.index)
        _bar(axis, CPU, times.collect, window, COLLECT, step.index, hatch="\\\\\\\\")
        begin, end = max(times.forward[0], free), times.forward[1]
        gap = min(begin, window[1]) - min(free, window[1])
        if gap > 0:
            waited += gap
            _bar(axis, MODEL, (free, begin), window, WAITS, "", hatch="..")
        _bar(axis, MODEL, (begin, end), window, WORK, step.index)
        free = max(free, end)
    return waited


def _bar(
    axis: Axes, lane: int, span: Lane, window: Lane, colour: str, text: object, **look: str
) -> None:
    """One bar, cut to the window, in ms; its text where there is room."""
    begin, end = (1e3 * (min(max(time, window[0]), window[1]) - window[0]) for time in span)
    if end <= begin:
        return
    style = {"facecolor": colour, "edgecolor": INK, "linewidth": 0.6, "height": 0.8} | look
    axis.barh(lane, end - begin, left=begin, **style)
    if end - begin > 0.03e3 * (window[1] - window[0]) and text != "":
        box = {"facecolor": colour, "edgecolor": "none", "pad": 1.5}
        axis.text((begin + end) / 2, lane, str(text), ha="center", va="center", fontsize=TICK,
                  color=ink_on(colour), bbox=box)  # fmt: skip


def _kinds(steps: Iterable[StepRecord]) -> list[Patch]:
    """The entries of the legend: collecting takes no time on a virtual clock."""
    kinds = [
        Patch(facecolor=WORK, edgecolor=INK, label="forward pass of step n"),
        Patch(facecolor=PLAN, edgecolor=INK, label="plan and launch n"),
    ]
    if any(step.times.collect[1] > step.times.collect[0] for step in steps):
        kinds.append(
            Patch(
                facecolor=COLLECT,
                edgecolor=INK,
                hatch="\\\\\\\\",
                label="collect n (read its tokens)",
            )
        )
    waits = Patch(facecolor=WAITS, edgecolor=INK, hatch="..", label="the model waits")
    return [*kinds, waits]
