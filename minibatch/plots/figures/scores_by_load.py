"""The score of a few policies over the load: whether one order of policies holds at every load."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, FAINT
from ..picture import LABEL, canvas, describe, dress

LOOKS = ((FAINT, "s"), (COLOURS[4], "o"), (COLOURS[2], "^"), (COLOURS[6], "D"))
APART = 0.075  # of the score: two names that can both be read


def scores_by_load(
    scores: Mapping[str, Mapping[float, float]], *, says: str = "", ax: Axes | None = None
) -> Figure:
    """A line for each policy.

    scores: by policy and by load, in parts of capacity; two to four policies. says: words at the
    end of the title, a learner's guess for example.
    """
    figure, (axis,) = canvas(1, ax, height=2.9)
    for line, (colour, marker) in zip(scores.values(), LOOKS, strict=False):
        axis.plot(list(line), list(line.values()), color=colour, marker=marker, linewidth=2.4,
                  markersize=9, clip_on=False)  # fmt: skip
    end = {name: line[max(line)] for name, line in scores.items()}
    loads = sorted({load for line in scores.values() for load in line})
    axis.set_xticks(loads, [f"{load:g}" for load in loads])
    axis.set_ylim(-0.03, 1.05)
    axis.set_xlim(loads[0], loads[-1])
    orders = {load: sorted(scores, key=lambda name: -scores[name][load]) for load in loads}
    changes = [load for before, load in pairwise(loads) if orders[load] != orders[before]]
    title = f"At a load of {loads[-1]:g}, {orders[loads[-1]][0]} has the highest score"
    if changes:
        title = f"The order changes at a load of {changes[0]:g}: {orders[changes[0]][0]} is first"
    title += says
    dress(axis, title, "load: arrival rate ÷ capacity", "score")
    place = 2.0
    for name, (colour, _) in sorted(zip(scores, LOOKS, strict=False), key=lambda x: -end[x[0]]):
        place = min(end[name], place - APART)
        axis.annotate(name, (1, place), (8, 0), xycoords=axis.get_yaxis_transform(), va="center",
                      textcoords="offset points", fontsize=LABEL, color=colour)  # fmt: skip
    lines = [
        f"{name}: " + ", ".join(f"{load:g} {line[load]:.2f}" for load in line)
        for name, line in scores.items()
    ]
    describe(figure, "Lines of the score over the load.", [title, *lines])
    return figure
