"""The time of a pass with few requests in it, and with more."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import Normal, Stroke

from ...core.records import StepRecord
from ...engine.trace import Trace
from ..colours import HATCHES, INK, PROTAGONISTS, WORK
from ..guesses import mark, said
from ..picture import LABEL, TITLE, canvas, describe, dress, percent

WIDTH = 0.44  # of a bar; two make a pass
GAP = 0.03  # of it, at its right
OUTLINE = [Stroke(linewidth=4.4, foreground=INK), Normal()]  # of a median's line
FEW, MANY = (WORK,), (WORK, PROTAGONISTS[0])  # a bar has the colours of its requests, side by side
MOST_CUT = 2  # passes whose bars are longer than the picture is high, and are named


def pass_times(
    few: Trace, many: Trace, *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """Two bars for every pass (a step of an engine), one of each run, in percent of a pass of the
    run with fewer rows, and a line at the median of each. A bar of the larger run has two colours.

    The medians leave out prefills; they are over as many passes as both runs have with all their
    rows. guess: the name of a prediction: the time of a pass with more rows, in percent of one with
    fewer. Bars end at the picture's upper edge; above it are the percents of those that are longer.
    Raises ValueError if both have equally many rows.
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
    looks = zip(runs.values(), middle, (-WIDTH, 0), (FEW, MANY), strict=True)
    cut: dict[int, list[str]] = {}
    for steps, usual, left, colours in looks:
        name = " and ".join(row.request_id for row in steps[0].rows)
        for number, height in _draw(axis, steps, middle[0], left, colours, top):
            cut.setdefault(number, []).append(f"{name} {height:,.0f} %")
        height = 100 * usual / middle[0]
        axis.axhline(height, color=colours[0], linewidth=2.6, path_effects=OUTLINE)
        axis.axhline(height, color=colours[-1], linewidth=2.6, linestyle=(0, (5, 5)))
        words = f"{name}: {height:.0f} %"
        above = steps is runs[max(runs)]
        axis.text(shown + 0.8, height + (9 if above else -9), words, fontsize=LABEL, color=INK,
                  va="bottom" if above else "top", zorder=9,
                  bbox={"facecolor": "white", "edgecolor": INK, "linewidth": 1})  # fmt: skip
    axis.set_xlim(0.4, 1.7 * shown + 0.6)
    axis.set_xticks([1, *range(5, shown + 1, 5)])
    axis.set_ylim(0, top)
    one, other = map(_people, runs)
    finding = f"A pass for {other} takes {percent(share)} of the time for {one}"
    dress(axis, finding + said(guess), "pass through the model", f"% of a pass for {one}")
    mark(axis, guess, along="y")
    if cut:
        look = {"loc": "left", "fontsize": TITLE, "color": INK, "wrap": True}
        axis.set_title(finding + said(guess), pad=26, **look)
        look = {"textcoords": "offset points", "xycoords": "axes fraction", "va": "bottom"}
        axis.annotate(_beyond(cut), (0, 1), (2, 5), fontsize=LABEL, color=INK, **look)
    describe(figure, "Two bars for every pass: how long it took in each run.", [finding])
    return figure


def _draw(
    axis: Axes,
    steps: list[StepRecord],
    whole: float,
    left: float,
    colours: Sequence[str],
    top: float,
) -> list[tuple[int, float]]:
    """A bar for each pass. Returns number and percents of each that is higher than `top`."""
    heights = [100 * _ms(step) / whole for step in steps]
    width = (WIDTH - GAP) / len(colours)
    for part, colour in enumerate(colours):
        places = [number + left + part * width for number in range(1, len(steps) + 1)]
        bars = axis.bar(places, heights, width=width, align="edge", color=colour)
        for bar, step in zip(bars, steps, strict=True):
            if _reads(step):
                bar.set(hatch=HATCHES["prefill"], edgecolor=INK, linewidth=0.6)
    return [(number, height) for number, height in enumerate(heights, 1) if height > top]


def _beyond(cut: dict[int, list[str]]) -> str:
    """ "↑ pass 1: Anna 322 %, Anna and Ben 356 %", for the first few passes that are cut."""
    first = sorted(cut)[:MOST_CUT]
    words = [f"pass {number}: {', '.join(cut[number])}" for number in first]
    more = len(cut) - len(first)
    return "↑ " + ";  ".join([*words, *([f"{more} more"] if more else [])])


def _reads(step: StepRecord) -> bool:
    return any(row.kind == "prefill" for row in step.rows)


def _ms(step: StepRecord) -> float:
    return (step.end_time - step.start_time) * 1e3


def _people(number: int) -> str:
    return {1: "one person", 2: "two people"}.get(number, f"{number} people")
