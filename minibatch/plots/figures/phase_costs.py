"""The time that a run spent on prompts and on answers, and how much of both was padding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.records import RowRecord, StepRecord
from ...engine.trace import Trace
from ..colours import FADED, HATCHES, INK, WASTE, WORK
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress

KEY = "orange: the share of padding, with the number of tokens (prompts) or rows (answers)"
ANSWERS = "#DCECF7"  # paler than WORK: another phase, but not waste


@dataclass
class Part:
    """Steps of one phase: their time, what they computed, and how much of it was padding."""

    seconds: float
    words: str
    computed: int
    padding: int


def phase_costs(
    traces: Mapping[str, Trace],
    *,
    unit: str = "CPU seconds",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Two runs of the same requests as bars of seconds: steps with prompts in them, and the others.

    The padding's share of a part's tokens or rows is vermillion; that share is counted, not timed.
    traces: by name; the second is compared with the first. unit: of the engines' clocks. guess: the
    name of a prediction of how many times as fast.
    """
    figure, (axis,) = canvas(1, ax, height=1.1 * len(traces) + 0.4)
    parts = {name: [_part(t, True), _part(t, False)] for name, t in traces.items()}
    longest = max(_seconds(trace.steps) for trace in traces.values())
    bars = []
    for line, (name, (prompts, answers)) in enumerate(parts.items()):
        total = prompts.seconds + answers.seconds
        _draw(axis, line, 0, "prompts", prompts, WORK, HATCHES["prefill"])
        _draw(axis, line, prompts.seconds, "answers", answers, ANSWERS, "", 0.24 * longest)
        axis.text(total + 0.01 * longest, line, f"{total:.2f} s", va="center", fontsize=LABEL)
        bars.append(f"{name}: prompts {_words(prompts)}; answers {_words(answers)}")
    finding = _finding(*list(traces.values())[:2]) + said(guess)
    dress(axis, finding, f"{unit}\n{KEY}")
    axis.set_yticks(range(len(traces)), list(traces), fontsize=LABEL)
    axis.set_ylim(len(traces) - 0.6, -0.85)
    axis.set_xlim(0, 1.1 * longest)
    describe(figure, "Bars: seconds on prompts and on answers.", [finding, *bars])
    return figure


def _seconds(steps: Iterable[StepRecord]) -> float:
    return sum(step.end_time - step.start_time for step in steps)


def _part(trace: Trace, prompts: bool) -> Part:
    """The steps with a prompt in them, or the others."""
    some = [step for step in trace.steps if _has_prompt(step) == prompts]
    rows = [row for step in some for row in step.rows]
    if prompts:
        computed = sum(row.num_tokens + row.num_padding_tokens for row in rows)
        padding = sum(row.num_padding_tokens for row in rows)
        words = f"{computed:,} tokens"
    else:
        computed, padding = len(rows), sum(map(_is_padding, rows))
        words = f"{len(some):,} steps, {computed:,} rows"
    return Part(_seconds(some), words, computed, padding)


def _has_prompt(step: StepRecord) -> bool:
    return any(row.kind == "prefill" for row in step.rows)


def _is_padding(row: RowRecord) -> bool:
    return row.kind == "padding"


def _draw(
    axis: Axes,
    line: int,
    left: float,
    name: str,
    part: Part,
    colour: str,
    hatch: str,
    words_from: float = 0,
) -> None:
    """A part of a bar with its words above, and its padding with the number inside. words_from:
    the words begin here at the earliest, beside those of the part before."""
    wasted = part.seconds * part.padding / max(part.computed, 1)
    look = {"edgecolor": INK, "linewidth": 0.8, "height": 0.46}
    axis.barh(line, part.seconds - wasted, left=left, color=colour, hatch=hatch, **look)
    words = f"{name}: {part.seconds:.1f} s\n{part.words}"
    look_of_words = {"xytext": (3, 0), "textcoords": "offset points", "va": "bottom"}
    at = (max(left, words_from), line - 0.27)
    axis.annotate(words, at, fontsize=TICK, color=INK, **look_of_words)
    if wasted:
        left += part.seconds - wasted
        burnt = {"color": WASTE, "hatch": HATCHES["padding"], **look, "edgecolor": FADED}
        axis.barh(line, wasted, left=left, **burnt)
        box = {"facecolor": "white", "edgecolor": WASTE, "boxstyle": "round,pad=0.25"}
        middle = {"ha": "center", "va": "center", "fontsize": TICK, "color": INK, "bbox": box}
        axis.text(left + wasted / 2, line, f"{part.padding:,}", **middle)


def _words(part: Part) -> str:
    wasted = f", {part.padding:,} of them padding" if part.padding else ""
    return f"{part.seconds:.1f} s, {part.words}{wasted}"


def _finding(slow: Trace, fast: Trace) -> str:
    steps = f"{len(fast.steps):,} steps instead of {len(slow.steps):,}"
    return f"{steps}, {_seconds(slow.steps) / _seconds(fast.steps):.1f} times as fast"
