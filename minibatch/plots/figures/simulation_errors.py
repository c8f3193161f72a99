"""How far a simulation is from a real run, beside how far a second real run is."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.held_out import HeldOut
from ..colours import EMPTY, INK, PROTAGONISTS
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress, percent

SIMULATED = {"color": PROTAGONISTS[2], "markeredgecolor": INK, "markersize": 10}
AGAIN = {"color": EMPTY, "markeredgecolor": INK, "markersize": 17, "markeredgewidth": 1.6}


def simulation_errors(
    held_out: Sequence[HeldOut],
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line for each load and number: a dot is the difference of the simulation from a real run, a
    ring that of one real run from another. Both are means over the real runs.

    held_out: `calibration.held_out`. guess: the name of a prediction of a difference, in per cent.
    """
    errors = [error for each in held_out for error in each.errors]
    figure, (axis,) = canvas(1, ax, height=0.6 + 0.42 * len(errors))
    rows = []
    for y, error in enumerate(errors):
        simulated, again = (100 * abs(share) for share in (error.simulated, error.real_again))
        (ring,) = axis.plot(again, y, "o", **AGAIN)
        (dot,) = axis.plot(simulated, y, "o", **SIMULATED)
        rows.append(f"{error.load}, {error.metric}: {simulated:.0f} % ({again:.0f} %)")
    largest = max(abs(error.simulated) for error in errors)
    again = max(error.real_again for error in errors)
    finding = f"Largest difference: simulated {percent(largest)}, real again {percent(again)}"
    dress(axis, finding + said(guess, "{:g} %"), "difference from a real run, %")
    axis.set_yticks(range(len(errors)), [f"{e.load}: {e.metric}" for e in errors])
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.set_ylim(len(errors) - 0.5, -0.8)
    axis.grid(axis="y", color="#DDDDDD")
    axis.set_xlim(left=0)
    axis.margins(x=0.12)
    mark(axis, guess)
    names = "the simulation", "another real run"
    figure.legend([dot, ring], names, loc="outside lower center", ncols=2, frameon=False,
                  fontsize=LABEL)  # fmt: skip
    describe(figure, "A dot and a ring for each load and number.", [finding, *rows])
    return figure
