"""A sum by shuffles: which lanes' numbers each lane has added up, after each exchange."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from ..colours import FAINT, INK, PROTAGONISTS, WORK
from ..picture import LABEL, TICK, canvas, describe, dress


def shuffle_sum(lanes: int = 8, *, ax: Axes | None = None) -> Figure:
    """A column of boxes for each exchange, a row for each lane, a line for each value that moves.

    A box has the numbers of the lanes whose values are in the lane's sum. Lane 0 and its partners
    are marked. lanes: a power of two, at most 16. Raises ValueError for other numbers.
    """
    if lanes not in (2, 4, 8, 16):
        raise ValueError(f"lanes is {lanes}; give 2, 4, 8 or 16")
    sums, steps = [[{lane} for lane in range(lanes)]], []
    while lanes >> len(sums):
        steps.append(lanes >> len(sums))
        sums.append([sums[-1][lane] | sums[-1][lane ^ steps[-1]] for lane in range(lanes)])
    figure, (axis,) = canvas(1, ax, height=0.5 + 0.42 * lanes)
    for x, column in enumerate(sums):
        for lane, inside in enumerate(column):
            _box(axis, x, lane, inside, lanes)
            if x < len(steps):
                for begin in (lane, lane ^ steps[x]):
                    own = lane == 0
                    axis.plot([x + 0.36, x + 0.64], [begin, lane], zorder=3 if own else 1,
                              color=PROTAGONISTS[0] if own else FAINT,
                              linewidth=3 if own else 1)  # fmt: skip
    finding = f"{len(steps)} shuffles give each of {lanes} lanes the sum of all {lanes}"
    dress(axis, finding, "", "lane")
    axis.set_yticks(range(lanes))
    heads = ["own number", *(f"after the shuffle\nwith {step}" for step in steps)]
    axis.set_xticks(range(len(sums)), heads, fontsize=LABEL)
    axis.set_xlim(-0.5, len(sums) - 0.5)
    axis.set_ylim(lanes - 0.4, -0.6)
    axis.tick_params(length=0)
    axis.spines[["bottom", "left"]].set_visible(False)
    lines = [
        f"Lane 0 after the shuffle with {step}: the sum of lanes {_words(column[0], 99)}"
        for step, column in zip(steps, sums[1:], strict=True)
    ]
    describe(figure, "Boxes of lanes, exchange by exchange.", [finding, *lines])
    return figure


def _box(axis: Axes, x: float, lane: int, inside: set[int], lanes: int) -> None:
    own = lane == 0
    look = {"facecolor": WORK, "edgecolor": PROTAGONISTS[0] if own else INK}
    shape = "round,pad=0,rounding_size=0.08"
    axis.add_patch(FancyBboxPatch((x - 0.36, lane - 0.32), 0.72, 0.64, boxstyle=shape,
                                  linewidth=3 if own else 0.8, zorder=2, **look))  # fmt: skip
    words = f"all {lanes}" if len(inside) == lanes else _words(inside, 4)
    axis.text(x, lane, words, ha="center", va="center", fontsize=TICK, color=INK, zorder=4)


def _words(lanes: set[int], most: int) -> str:
    names = [str(lane) for lane in sorted(lanes)]
    return " + ".join(names if len(names) <= most else [*names[: most - 1], "…"])
