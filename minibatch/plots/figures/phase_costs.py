"""The time that a run spent on prompts and on answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.records import StepRecord
from ...engine.trace import Trace
from ..colours import HATCHES, INK, WORK
from ..guesses import said
from ..picture import LABEL, canvas, describe, dress


def phase_costs(
    traces: Mapping[str, Trace],
    *,
    unit: str = "CPU seconds",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Two runs of the same requests as bars of seconds: steps with prompts in them, and the others.

    traces: by name; the second is compared with the first. unit: of the engines' clocks. guess: the
    name of a prediction of how many times as fast.
    """
    figure, (axis,) = canvas(1, ax, height=1.1 * len(traces))
    longest = max(_seconds(trace.steps) for trace in traces.values())
    bars = []
    for line, (name, trace) in enumerate(traces.items()):
        left, told = 0.0, []
        for part, hatch, side in (("prompts", HATCHES["prefill"], -1), ("answers", "", 1)):
            some = [step for step in trace.steps if _has_prompt(step) == (part == "prompts")]
            seconds = _seconds(some)
            look = {"color": WORK, "hatch": hatch, "edgecolor": INK, "linewidth": 0.8}
            axis.barh(line, seconds, left=left, height=0.46, **look)
            words, level = f"{part}: {seconds:.1f} s", "bottom" if side < 0 else "top"
            axis.annotate(words, (left, line + 0.26 * side), (3, 0), textcoords="offset points",
                          va=level, fontsize=LABEL, color=INK)  # fmt: skip
            told.append(f"{words}, {_computed(some, part == 'prompts')}")
            left += seconds
        bars.append(f"{name}: {'; '.join(told)}")
    finding = _finding(*list(traces.values())[:2]) + said(guess)
    dress(axis, finding, unit)
    axis.set_yticks(range(len(traces)), list(traces), fontsize=LABEL)
    axis.set_ylim(len(traces) - 0.45, -0.55)
    axis.set_xlim(0, 1.05 * longest)
    describe(figure, "Bars: seconds on prompts and on answers.", [finding, *bars])
    return figure


def _seconds(steps: Iterable[StepRecord]) -> float:
    return sum(step.end_time - step.start_time for step in steps)


def _has_prompt(step: StepRecord) -> bool:
    return any(row.kind == "prefill" for row in step.rows)


def _computed(steps: list[StepRecord], prompts: bool) -> str:
    """What these steps computed, and how much of it was padding."""
    rows = [row for step in steps for row in step.rows]
    if prompts:
        padding = sum(row.num_padding_tokens for row in rows)
        words = f"{padding + sum(row.num_tokens for row in rows):,} tokens"
    else:
        padding = sum(row.kind == "padding" for row in rows)
        words = f"{len(steps):,} steps, {len(rows):,} rows"
    return words + (f", {padding:,} of them padding" if padding else "")


def _finding(slow: Trace, fast: Trace) -> str:
    steps = f"{len(fast.steps):,} steps instead of {len(slow.steps):,}"
    return f"{steps}, {_seconds(slow.steps) / _seconds(fast.steps):.1f} times as fast"
