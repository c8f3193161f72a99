"""The time of a pass with few requests in it, and with more."""

from __future__ import annotations

from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.records import StepRecord
from ...engine.trace import Trace
from ..colours import HATCHES, INK, PROTAGONISTS, WORK
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress

WIDTH = 0.44  # of a bar; two make a pass


def pass_times(
    few: Trace, many: Trace, *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """Two bars for every pass (a step of an engine), one of each run, in percent of a pass of the
    run with fewer rows, and a line at the median of each.

    The medians leave out prefills; they are over as many passes as both runs have with all their
    rows. guess: the name of a prediction: the time of a pass with more rows, in percent of one with
    fewer. Raises ValueError if both have equally many rows.
    """
    runs = {len(trace.steps[0].rows): trace.steps for trace in (few, many)}
    if len(runs) == 1:
        raise ValueError(f"all passes have {min(runs)} rows; there is nothing to compare")
    shown = min(sum(len(s.rows) == n for s in steps) for n, steps in runs.items())
    runs = {n: steps[:shown] for n, steps in sorted(runs.items())}
    middle = [median(_ms(s) for s in steps if not _reads(s)) for steps in runs.values()]
    share = middle[1] / middle[0]

    figure, (axis,) = canvas(1, ax, height=2.9)
    top = max(170, 140 * share)
    looks = zip(runs.values(), middle, (-WIDTH, 0), (WORK, PROTAGONISTS[0]), strict=True)
    for steps, usual, left, colour in looks:
        _draw(axis, steps, middle[0], left, colour, top)
        height = 100 * usual / middle[0]
        axis.axhline(height, color=INK, linewidth=2.5)
        words = f"{' and '.join(row.request_id for row in steps[0].rows)}: {height:.0f} %"
        above = steps is runs[max(runs)]
        axis.text(shown + 0.8, height + (5 if above else -5), words, fontsize=LABEL, color=INK,
                  va="bottom" if above else "top",
                  bbox={"facecolor": "white", "edgecolor": colour, "linewidth": 2})  # fmt: skip
    axis.set_xlim(0.4, 1.24 * shown + 0.6)
    axis.set_xticks([1, *range(5, shown + 1, 5)])
    axis.set_ylim(0, top)
    one, other = (f"a pass for {_people(number)}" for number in runs)
    finding = f"{other[0].upper()}{other[1:]} takes {share:.0%} of the time of {one}"
    dress(axis, finding + said(guess), "pass through the model", f"% of {one}")
    mark(axis, guess, along="y")
    describe(figure, "Two bars for every pass: how long it took in each run.", [finding])
    return figure


def _draw(
    axis: Axes, steps: list[StepRecord], whole: float, left: float, colour: str, top: float
) -> None:
    """A bar for each pass; a prefill that is higher than the picture has its value as text."""
    heights = [100 * _ms(step) / whole for step in steps]
    places = [number + left for number in range(1, len(steps) + 1)]
    look = {"width": WIDTH, "align": "edge", "edgecolor": "white", "linewidth": 0.6}
    bars = axis.bar(places, heights, color=colour, **look)
    for bar, step, height in zip(bars, steps, heights, strict=True):
        if _reads(step):
            bar.set(hatch=HATCHES["prefill"], edgecolor=INK)
            if height > top:
                axis.text(1.6, (0.96 if left else 0.84) * top, f"↑ {height:,.0f} %",
                          fontsize=LABEL, color=colour if left == 0 else INK, va="top")  # fmt: skip


def _reads(step: StepRecord) -> bool:
    return any(row.kind == "prefill" for row in step.rows)


def _ms(step: StepRecord) -> float:
    return (step.end_time - step.start_time) * 1e3


def _people(number: int) -> str:
    return {1: "one", 2: "two"}.get(number, str(number))
