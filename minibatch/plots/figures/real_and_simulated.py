"""A workload for real, simulated, and for real again: is the simulation as near as a second run?"""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...bench.held_out import HeldOut, RunTimes
from ..colours import EMPTY, INK, PROTAGONISTS, WAITS
from ..guesses import mark, said
from ..picture import LABEL, canvas, corner, describe, dress

SIMULATED = PROTAGONISTS[2]
REAL = {"color": INK, "linewidth": 1.4}
AGAIN = {"color": INK, "linewidth": 1.4, "linestyle": (0, (4, 2))}


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
    makespan = held_out.errors[0]
    finding = f"{_off(makespan.simulated, 'The simulation ends')}, {_again(makespan.real_again)}"
    dress(axes[0], finding + said(guess), "", "have a first token")
    dress(axes[1], "", f"seconds from the first arrival; load: {held_out.load}", "are complete")
    errors = [
        f"{error.metric}: {error.simulated:{'+' if error.metric == 'makespan' else ''}.0%}, "
        f"a real run {error.real_again:.0%}"
        for error in held_out.errors
    ]
    corner(axes[1], "\n".join(["difference from a real run", *errors]))
    mark(axes[1], guess)
    handles = [
        axes[0].plot([], [], **REAL, label="real")[0],
        axes[0].plot([], [], color=SIMULATED, linewidth=3, label="simulated")[0],
        axes[0].plot([], [], **AGAIN, label="real again")[0],
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False,
                  fontsize=LABEL)  # fmt: skip
    what = "Lines: requests with a first token, and with their last, by time, for each run."
    describe(figure, what, [finding, *errors])
    return figure


def _draw(axis: Axes, held_out: HeldOut, times_of) -> None:
    real = [times_of(run) for run in held_out.real]
    counts = range(1, len(real[0]) + 1)
    quickest, slowest = (list(map(end, zip(*real, strict=True))) for end in (min, max))
    axis.fill_betweenx(counts, quickest, slowest, step="pre", color="#DDDDDD", linewidth=0)
    axis.step(times_of(held_out.simulated), counts, where="post", color=SIMULATED, linewidth=3)
    for times, look in zip(real, [REAL, *[AGAIN] * (len(real) - 1)], strict=True):
        axis.step(times, counts, where="post", **look)
    axis.set_ylim(0, len(counts) * 1.08)
    axis.set_xlim(left=0)
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def _first_tokens(run: RunTimes) -> list[float]:
    pairs = zip(run.arrival, run.ttft, strict=True)
    return sorted(arrival + ttft for arrival, ttft in pairs)


def _off(share: float, who: str) -> str:
    return f"{who} {abs(share):.0%} {'late' if share > 0 else 'early'}"


def _again(share: float) -> str:
    return f"and a second real run is {share:.0%} off the first"
