"""What every pass of one run took, and for whom it was."""

from __future__ import annotations

from itertools import groupby
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.records import StepRecord
from ...engine.trace import Trace
from ..colours import HATCHES, INK, PROTAGONISTS, WORK
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress

MOST_NAMES = 3  # written out over a stretch of passes; more are counted


def pass_times(trace: Trace, *, guess: str | None = None, ax: Axes | None = None) -> Figure:
    """A bar for every pass (a step of the engine), in percent of a pass with the fewest rows, and a
    line at the median of each kind.

    The medians are compared, prefills aside. guess: the name of a prediction: what a pass with the
    most rows takes, in percent of one with the fewest. Raises ValueError if all passes have equally
    many rows.
    """
    decodes = [step for step in trace.steps if not _reads(step)]
    few, many = (end(len(step.rows) for step in decodes) for end in (min, max))
    if few == many:
        raise ValueError(f"all passes have {few} rows; there is nothing to compare")
    middle = {n: median(_ms(s) for s in decodes if len(s.rows) == n) for n in (few, many)}
    share = middle[many] / middle[few]

    figure, (axis,) = canvas(1, ax, height=2.9)
    start = 0
    for names, stretch in groupby(trace.steps, _names):
        stretch = list(stretch)
        colour = PROTAGONISTS[0] if len(names) == many else WORK
        _draw(axis, start, stretch, middle[few], colour)
        _label(axis, start, stretch, middle[few])
        start += len(stretch)
    axis.set_xlim(0, start)
    axis.set_ylim(0, max(170, 140 * share))
    _say_what_is_cut_off(axis, trace.steps, middle[few])
    finding = f"A pass for {_rows(many)} takes {share:.0%} of the time of a pass for {_rows(few)}"
    dress(axis, finding + said(guess), "pass through the model", f"% of a pass for {_rows(few)}")
    mark(axis, guess, along="y")
    describe(figure, "A bar for every pass: how long it took.", [finding])
    return figure


def _draw(axis: Axes, start: int, stretch: list[StepRecord], whole: float, colour: str) -> None:
    heights = [100 * _ms(step) / whole for step in stretch]
    look = {"width": 1.0, "align": "edge", "edgecolor": "white", "linewidth": 0.6}
    bars = axis.bar(range(start, start + len(stretch)), heights, color=colour, **look)
    for bar, step in zip(bars, stretch, strict=True):
        if _reads(step):
            bar.set(hatch=HATCHES["prefill"], edgecolor=INK)


def _label(axis: Axes, start: int, stretch: list[StepRecord], whole: float) -> None:
    """A line at the median of the stretch, and whose passes these are under it."""
    names = _names(stretch[0])
    who = " and ".join(names) if len(names) <= MOST_NAMES else f"{len(names)} rows"
    height = 100 * median(_ms(s) for s in stretch if not _reads(s) or len(stretch) == 1) / whole
    axis.plot([start, start + len(stretch)], [height] * 2, color=INK, linewidth=2.5)
    words = f"{who}: {height:.0f} %"
    axis.text(start + 1.8, 50, words, fontsize=LABEL, color=INK, va="center",
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 4})  # fmt: skip


def _say_what_is_cut_off(axis: Axes, steps: list[StepRecord], whole: float) -> None:
    """Beside a pass that reads and is higher than the picture: how high."""
    top = axis.get_ylim()[1]
    for index, step in enumerate(steps):
        if _reads(step) and (height := 100 * _ms(step) / whole) > top:
            axis.text(index + 1.8, 0.96 * top, f"↑ {height:,.0f} %", fontsize=LABEL, color=INK,
                      va="top")  # fmt: skip


def _names(step: StepRecord) -> tuple[str, ...]:
    return tuple(sorted(row.request_id for row in step.rows))


def _reads(step: StepRecord) -> bool:
    return any(row.kind == "prefill" for row in step.rows)


def _ms(step: StepRecord) -> float:
    return (step.end_time - step.start_time) * 1e3


def _rows(number: int) -> str:
    return {1: "one", 2: "two"}.get(number, str(number))
