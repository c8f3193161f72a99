"""The time of a pass with few requests in it, and with more."""

from __future__ import annotations

from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.records import StepRecord
from ...engine.trace import Trace
from ..colours import COLOURS, PROTAGONISTS
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress, percent

LOOKS = ((COLOURS[4], "o", "top"), (PROTAGONISTS[0], "s", "bottom"))  # where a label ends


def pass_times(
    few: Trace, many: Trace, *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A dot for every decode pass of each run, in percent of the median pass of the run with fewer
    rows, and a line at each run's median.

    The passes are as many as both runs have with all their rows, without prefills. guess: the name
    of a prediction: the time of a pass with more rows, in percent of one with fewer. A dot beyond
    the picture's upper edge is a triangle there. Raises ValueError if both have equally many rows.
    """
    runs = {len(trace.steps[0].rows): trace.steps for trace in (few, many)}
    if len(runs) == 1:
        raise ValueError(f"all passes have {min(runs)} rows; there is nothing to compare")
    shown = min(sum(len(s.rows) == n for s in steps) for n, steps in runs.items())
    runs = {n: [s for s in steps[:shown] if not _reads(s)] for n, steps in sorted(runs.items())}
    middle = [median(_seconds(step) for step in steps) for steps in runs.values()]
    share = middle[1] / middle[0]

    figure, (axis,) = canvas(1, ax, height=2.9)
    top = max(160, 140 * share)
    for steps, usual, (colour, marker, va) in zip(runs.values(), middle, LOOKS, strict=True):
        name = " and ".join(row.request_id for row in steps[0].rows)
        dots = [(step.index + 1, 100 * _seconds(step) / middle[0]) for step in steps]
        inside = [dot for dot in dots if dot[1] <= top]
        look = {"color": colour, "linestyle": "", "markersize": 9, "alpha": 0.75}
        axis.plot(*zip(*inside, strict=True), marker=marker, **look)
        for number in sorted({number for number, _ in dots} - {number for number, _ in inside}):
            axis.plot(number, top, marker="^", clip_on=False, **look)
        height = 100 * usual / middle[0]
        axis.axhline(height, color=colour, linewidth=2)
        axis.annotate(f"{name}\n{height:.0f} %", (1, height), (6, 0), va=va,
                      xycoords=axis.get_yaxis_transform(), textcoords="offset points",
                      fontsize=LABEL, color=colour, weight="bold")  # fmt: skip
    axis.set_xlim(1, shown + 0.5)
    axis.set_xticks([2, *range(5, shown + 1, 5)])
    axis.set_ylim(0, top)
    one, other = map(_people, runs)
    finding = f"A pass for {other} takes {percent(share)} of a pass for {one}"
    dress(axis, finding + said(guess), "pass through the model", f"% of a pass for {one}")
    mark(axis, guess, along="y")
    describe(figure, "A dot for every pass: how long it took in each run.", [finding])
    return figure


def _reads(step: StepRecord) -> bool:
    return any(row.kind == "prefill" for row in step.rows)


def _seconds(step: StepRecord) -> float:
    return step.end_time - step.start_time


def _people(number: int) -> str:
    return {1: "one person", 2: "two people"}.get(number, f"{number} people")
