"""How much of each prompt a step computes: its chunks, and how they share the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...engine.trace import Trace
from ..colours import WORK
from ..guesses import said
from ..picture import TICK, canvas, describe, dress
from .timeline import by_name

SHADES = "#CFE4F5", WORK, "#0072B2"  # the last is the one that the title is about


def prompt_progress(
    traces: Trace | Mapping[str, Trace],
    names: Sequence[str],
    *,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A bar for each step: how many prompt tokens of each of these requests it computes, stacked.

    traces: a trace, or several by name. names: of three requests; the title is about the
    last. guess: the name of a prediction of the steps until its prompt is computed, in
    the first trace. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.2)
    findings = []
    for axis, (label, trace) in zip(axes, named.items(), strict=True):
        begin = min(i for name in names for i, _ in _chunks(trace, name)) - 1
        tops: dict[int, int] = {}
        for place, name in enumerate(names):
            chunks = _chunks(trace, name)
            steps, tokens = [i - begin for i, _ in chunks], [n for _, n in chunks]
            below = [tops.get(step, 0) for step in steps]
            axis.bar(steps, tokens, 0.86, below, color=SHADES[place], label=name)
            tops |= {step: low + n for step, low, n in zip(steps, below, tokens, strict=True)}
        steps = _chunks(trace, names[-1])[-1][0] - begin
        words = f"{names[-1]}'s prompt is computed after {steps} step{'s' * (steps != 1)}"
        words = f"{label}: {words}" if label else words
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        x = f"step, counted from the arrival of {names[0]}" if axis is axes[-1] else ""
        dress(axis, findings[-1], x, "prompt tokens\nin the step")
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))  # steps are whole
        axis.set_xlim(left=0.4)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", reverse=True,
                  frameon=False, fontsize=TICK)  # fmt: skip
    describe(figure, f"Bars: prompt tokens of {', '.join(names)}, step by step.", findings)
    return figure


def _chunks(trace: Trace, name: str) -> list[tuple[int, int]]:
    """(step, prompt tokens of this request computed in it), for each such step."""
    found = [
        (step.index, row.num_tokens)
        for step in trace.steps
        for row in step.rows
        if row.request_id == name and row.kind == "prefill"
    ]
    if not found:
        raise ValueError(f"no prompt of {name!r} was computed in this trace")
    return found
