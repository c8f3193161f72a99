"""A few numbers of several runs: a panel for each number, a bar for each run."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, WORK
from ..guesses import said
from ..picture import LABEL, TITLE, canvas, describe, dress

BEST = "#0072B2"


def scorecard(
    runs: Mapping[str, Mapping[str, float]],
    *,
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """A panel for each number, a bar for each run; the smallest is the best one, dark and bold.

    runs: by name, the numbers of each run by their labels, the same labels for all. guess: the name
    of a prediction of the first number of the first run. ax: where to draw, one Axes a number.
    """
    names, whats = list(runs), list(next(iter(runs.values())))
    figure, axes = canvas(len(whats), ax, height=0.7 + 0.42 * len(runs), beside=True)
    best, texts = {}, {}
    for axis, what in zip(axes, whats, strict=True):
        values = {name: runs[name][what] for name in names}
        best[what] = min(values, key=values.get)
        longest = max(values.values())
        digits = 0 if longest >= 100 else 1 if longest >= 3 else 2
        for place, (name, value) in enumerate(values.items()):
            texts[name, what] = f"{value:,.{digits}f}"
            look = {"color": WORK}, {"weight": "normal"}
            if name == best[what]:
                look = {"color": BEST}, {"weight": "bold"}
            axis.barh(place, value, 0.7, **look[0])
            axis.annotate(texts[name, what], (value, place), (5, 0), va="center", color=INK,
                          textcoords="offset points", fontsize=LABEL, **look[1])  # fmt: skip
        dress(axis, "")
        axis.set_title(fill(what, 75 // len(whats)), loc="left", fontsize=LABEL, color=INK)
        axis.set_xlim(0, 1.5 * (longest or 1))
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.set_xticks([])
        axis.set_yticks(range(len(names)), names)
        axis.tick_params(axis="y", length=0, labelsize=LABEL)
        axis.spines["bottom"].set_visible(False)
    finding = f"Best in {'; '.join(f'{what}: {best[what]}' for what in whats[:2])}{said(guess)}"
    if ax is None:
        figure.suptitle(finding, x=0.01, ha="left", fontsize=TITLE, color=INK)
    lines = [f"{n}: {', '.join(f'{what} {texts[n, what]}' for what in whats)}" for n in names]
    describe(figure, "Bars, one panel for each number.", [finding, *lines])
    return figure
