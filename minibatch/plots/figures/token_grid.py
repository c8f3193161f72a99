"""What each request did in each step, one letter a cell: for few requests and steps."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...engine.trace import Trace
from ..colours import BURNT, FAINT, INK, WORK
from ..guesses import said
from ..picture import TICK, canvas, describe, dress
from ..spans import kinds, spans
from .timeline import by_name

LETTERS = {"prefill": "P", "decode": "d"}
KEY = "P: prompt and first token    d: one more token    w: waits    hatched: padding"


def token_grid(
    traces: Trace | Mapping[str, Trace],
    *,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A line for each request, a column for each step: P its prompt, d a token, w it waits.

    Padding is one hatched bar. traces: of runs in which all requests arrive at the start,
    one panel each; about twenty steps can be read. guess: the name of a prediction of
    the last panel's number of steps.
    """
    named = by_name(traces)
    names = sorted({c.request_id for trace in named.values() for c in trace.completions})
    figure, axes = canvas(len(named), ax, height=max(1.2, 0.42 * len(names)))
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        last = axis is axes[-1]
        _draw(axis, trace, names)
        findings.append(_finding(name, trace) + (said(guess) if last else ""))
        dress(axis, findings[-1], f"step\n{KEY}" if last else "", "request")
    axes[0].set_xlim(0, max(len(trace.steps) for trace in named.values()))
    describe(figure, "Requests by steps.", findings)
    return figure


def _finding(name: str, trace: Trace) -> str:
    num_rows = sum(len(step.rows) for step in trace.steps)
    useful = sum(step.num_output_tokens for step in trace.steps)
    every = f"every one of {num_rows} rows yields a token"
    rows = every if useful == num_rows else f"{useful} of {num_rows} rows yield a token"
    return f"{name}: " * bool(name) + f"{len(trace.steps)} steps, {rows}"


def _draw(axis: Axes, trace: Trace, names: list[str]) -> None:
    for index, step in enumerate(trace.steps):
        did = kinds(step)
        for line, name in enumerate(names):
            kind = did.get(name)
            if kind in LETTERS:
                _cell(axis, index, line, 1, facecolor=WORK)
                _write(axis, index, line, LETTERS[kind])
            elif kind != "padding" and _waits(trace, name, index):
                _write(axis, index, line, "w", FAINT)
    for span in spans(trace.steps):
        if span.kind == "padding":
            width = span.end - span.start
            _cell(axis, span.start, names.index(span.request_id), width, linewidth=0, **BURNT)
    num_steps = len(trace.steps)
    axis.set_ylim(len(names) - 0.4, -0.6)  # the first request on top
    axis.set_yticks(range(len(names)), names, fontsize=TICK)
    axis.set_xticks([i + 0.5 for i in range(num_steps)], range(1, num_steps + 1))
    axis.tick_params(length=0)
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)


def _waits(trace: Trace, name: str, index: int) -> bool:
    admitted = [step.index for step in trace.steps if name in step.admitted]
    return bool(admitted) and index < admitted[0]


def _cell(axis: Axes, left: float, line: int, width: int, **look: object) -> None:
    look = {"edgecolor": "white", "linewidth": 1.5, **look}
    axis.add_patch(Rectangle((left, line - 0.42), width, 0.84, **look))


def _write(axis: Axes, left: float, line: int, text: str, colour: str = INK) -> None:
    axis.text(left + 0.5, line, text, ha="center", va="center", fontsize=TICK, color=colour)
