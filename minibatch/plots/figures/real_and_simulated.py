"""A workload for real, simulated, and for real again: is the simulation as near as a second run?"""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...bench.held_out import Error, HeldOut, RunTimes, note
from ..colours import INK, PROTAGONISTS
from ..guesses import mark, said
from ..picture import LABEL, canvas, corner, describe, dress, percent

SIMULATED = {"color": PROTAGONISTS[2], "linewidth": 4}
REAL = {"color": INK, "linewidth": 1.4}
AGAIN = {"color": INK, "linewidth": 1.4, "linestyle": (0, (4, 2))}
BETWEEN = "#DDDDDD"  # the real runs


def real_and_simulated(
    held_out: HeldOut, *, guess: str | None = None, ax: list[Axes] | None = None
) -> Figure:
    """How many requests have their first token, and how many their last one, by time; a line for
    each run. The grey area is between the real runs. The corner has the errors.

    held_out: from `calibration.held_out`, or of `minibatch.bench.held_out.compare`. guess: the name
    of a prediction of the makespan in seconds. ax: where to draw, two Axes.
    """
    figure, axes = canvas(2, ax, height=2.3)
    _draw(axes[0], held_out, _first_tokens)
    _draw(axes[1], held_out, lambda run: sorted(run.finish))
    finding = _finding(held_out.errors[0])
    dress(axes[0], finding + said(guess), "", "requests with\na first token")
    dress(
        axes[1], "", f"seconds from the first arrival; load: {held_out.load}", "complete\nrequests"
    )
    corner(axes[1], note([held_out]))
    mark(axes[1], guess)
    handles = [
        axes[0].plot([], [], **REAL, label="real")[0],
        axes[0].plot([], [], **SIMULATED, label="simulated")[0],
        axes[0].plot([], [], **AGAIN, label="real again")[0],
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False,
                  fontsize=LABEL)  # fmt: skip
    what = "Lines: requests with a first token, and with their last, by time, for each run."
    describe(figure, what, [finding, note([held_out])])
    return figure


def _draw(axis: Axes, held_out: HeldOut, times_of: Callable[[RunTimes], list[float]]) -> None:
    """Stairs from no request to all; a dot at the end of each."""
    real, simulated = [times_of(run) for run in held_out.real], times_of(held_out.simulated)
    counts = range(len(simulated) + 1)
    ends = [list(map(end, zip(*real, strict=True))) for end in (min, max)]
    axis.fill_betweenx(counts, *([0.0, *end] for end in ends), step="pre", color=BETWEEN)
    looks = [SIMULATED, REAL, *[AGAIN] * (len(real) - 1)]
    for times, look in zip((simulated, *real), looks, strict=True):
        axis.step([0.0, *times], counts, where="post", **look)
        axis.plot(times[-1], counts[-1], "o", color=look["color"], markersize=7)
    axis.set_ylim(0, 1.12 * counts[-1])
    axis.set_xlim(0, 1.03 * max(max(run.finish) for run in (held_out.simulated, *held_out.real)))
    axis.yaxis.set_major_locator(MaxNLocator(4, integer=True))


def _first_tokens(run: RunTimes) -> list[float]:
    pairs = zip(run.arrival, run.ttft, strict=True)
    return sorted(arrival + ttft for arrival, ttft in pairs)


def _finding(makespan: Error) -> str:
    share, again = makespan.simulated, f"two real runs differ by {percent(makespan.real_again)}"
    if abs(share) < 0.005:
        return f"The simulation ends when a real run does; {again}"
    return (
        f"The simulation ends {percent(abs(share))} {'later' if share > 0 else 'earlier'}; {again}"
    )
