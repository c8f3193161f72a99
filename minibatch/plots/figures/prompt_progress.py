"""How much of each prompt is computed, step by step: its chunks, and how they share the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...engine.trace import Trace
from ..colours import INK, PROTAGONISTS
from ..guesses import said
from ..picture import canvas, describe, dress
from .timeline import by_name

MARKS = "os^D"


def prompt_progress(
    traces: Trace | Mapping[str, Trace],
    names: Sequence[str],
    *,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Prompt tokens computed so far, a line for each of these requests, a dot for each chunk.

    traces: a trace, or several by name. names: request ids; the title is about the last of
    them. guess: the name of a prediction of the steps until its prompt is computed, in
    the first trace. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.2)
    findings = []
    for axis, (label, trace) in zip(axes, named.items(), strict=True):
        begin = min(i for name in names for i, _ in _chunks(trace, name)) - 1
        for place, name in enumerate(names):
            points = [(begin, 0)]
            for index, num_tokens in _chunks(trace, name):
                if points[-1][0] < index - 1:
                    points.append((index - 1, points[-1][1]))
                points.append((index, points[-1][1] + num_tokens))
            xs, ys = zip(*points, strict=True)
            colour = PROTAGONISTS[place % 3]
            width = 2.5 if place else 5.5  # a line under another one stays visible
            axis.plot([x - begin for x in xs], ys, color=colour, linewidth=width,
                      marker=MARKS[place % 4], markersize=4.5 + width)  # fmt: skip
            paper = {"fc": "white", "ec": "none", "pad": 1}
            axis.annotate(name, (xs[-1] - begin, ys[-1]), (10, 3), textcoords="offset points",
                          fontsize=13, weight="bold", color=INK, va="center",
                          bbox=paper)  # fmt: skip
        steps = _chunks(trace, names[-1])[-1][0] - begin
        words = f"{names[-1]}'s prompt is computed after {steps} step{'s' * (steps != 1)}"
        words = f"{label}: {words}" if label else words
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        x = f"steps since {names[0]} came" if axis is axes[-1] else ""
        dress(axis, findings[-1], x, "prompt tokens\ncomputed")
        axis.margins(x=0.04)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))  # steps are whole
        axis.set_ylim(bottom=0)
    describe(figure, f"Lines: prompt tokens of {', '.join(names)} computed so far.", findings)
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
