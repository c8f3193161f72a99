"""Several runs of the same requests: how many passes each took, and how many seconds."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import COLOURS, WORK
from ..guesses import mark, said
from ..picture import canvas, describe, dress, percent

LAST = COLOURS[4]  # dark blue: a colour of no request


def savings(
    traces: Mapping[str, Trace], *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """Two groups of bars, in percent of the first run: passes, and seconds spent in them.

    traces: two or more, by name. guess: the name of a prediction of the last one's seconds, in
    percent of the first one's.
    """
    names = list(traces)
    passes = [len(trace.steps) for trace in traces.values()]
    seconds = [sum(s.end_time - s.start_time for s in trace.steps) for trace in traces.values()]
    figure, (axis,) = canvas(1, ax, height=0.9 * len(names) + 0.6)
    ticks = []
    for group, (numbers, words) in enumerate(
        ((passes, "{:,} passes"), (seconds, "{:.2f} seconds"))
    ):
        for place, (name, number) in enumerate(zip(names, numbers, strict=True)):
            y = group * (len(names) + 0.6) + place
            colour = LAST if place == len(names) - 1 else WORK
            axis.barh(y, 100 * number / numbers[0], height=0.84, color=colour)
            ticks.append((y, f"{name}: {words.format(number)}"))
    axis.set_yticks(*zip(*ticks, strict=True))
    axis.invert_yaxis()
    finding = (
        f"{names[-1]}: {percent(passes[-1] / passes[0])} of the passes, "
        f"{percent(seconds[-1] / seconds[0])} of the time"
    )
    dress(axis, finding + said(guess), f"% of “{names[0].lower()}”")
    mark(axis, guess)
    describe(figure, "Bars: passes and seconds of each run.", [finding])
    return figure
