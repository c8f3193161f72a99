"""The picture to share: two policies give the same answers, one of them with wasted rows."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import BURNT, INK, WORK
from ..picture import LABEL, canvas, describe, dress


def same_answers(
    static: Trace,
    continuous: Trace,
    *,
    names: tuple[str, str] = ("static", "continuous"),
    seconds: tuple[float, float] | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Rows of each step under two policies, both on one scale: equal areas are equal work.

    names: of the two panels. seconds: what each run took, written at its end. ax: where to draw,
    two Axes. Raises ValueError if the answers differ: then the areas cannot be compared.
    """
    answers = _answers(static)
    if answers != _answers(continuous):
        raise ValueError("the two runs did not give the same answers; serve the same requests")
    figure, axes = canvas(2, ax, height=2.3)
    longest = max(len(static.steps), len(continuous.steps))
    took = [f", {number:.1f} s" for number in seconds] if seconds else ["", ""]
    for axis, trace, name, more in zip(axes, (static, continuous), names, took, strict=True):
        _draw(axis, trace, name, longest, more)
    title = f"Same answers. {_num_padding(static):,} rows nobody reads."
    dress(axes[0], title, "", "rows")
    dress(axes[1], "", "step (one forward pass)", "rows")
    steps = f"{names[0]} in {len(static.steps):,} steps, {names[1]} in {len(continuous.steps):,}"
    describe(figure, title, [f"Both give {sum(map(len, answers.values())):,} tokens: {steps}"])
    return figure


def _answers(trace: Trace) -> dict[str, list[int]]:
    return {done.request_id: done.token_ids for done in trace.completions}


def _num_padding(trace: Trace) -> int:
    return sum(len(step.rows) - step.num_output_tokens for step in trace.steps)


def _draw(axis: Axes, trace: Trace, name: str, longest: int, took: str) -> None:
    end, height = len(trace.steps), trace.max_batch_size
    edges, rows, useful = _stretches(trace)
    axis.stairs(useful, edges, fill=True, color=WORK)
    axis.stairs(rows, edges, baseline=useful, fill=True, linewidth=0, **BURNT)
    words = f"{name}: {end:,} steps{took}"
    side, at = ("left", end + 0.01 * longest) if end < 0.75 * longest else ("right", end)
    place = (at, 0.5 * height) if side == "left" else (at, 1.04 * height)
    level = "center" if side == "left" else "bottom"
    axis.text(*place, words, ha=side, va=level, fontsize=LABEL, color=INK)
    axis.set_ylim(0, 1.25 * height)
    axis.set_yticks([0, height])
    axis.set_xlim(0, 1.02 * longest)


def _stretches(trace: Trace) -> tuple[list[int], list[int], list[int]]:
    """Steps at which the rows change; from each to the next, the rows and the useful rows."""
    counts = [(len(step.rows), step.num_output_tokens) for step in trace.steps]
    starts = [i for i, count in enumerate(counts) if not i or count != counts[i - 1]]
    rows, useful = zip(*(counts[i] for i in starts), strict=True)
    return [*starts, len(counts)], list(rows), list(useful)
