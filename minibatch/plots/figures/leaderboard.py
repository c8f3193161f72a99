"""A leaderboard: each policy's score on the public traffic, and on the traffic that nobody saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ..colours import COLOURS, EMPTY, FAINT, INK, PROTAGONISTS
from ..picture import LABEL, TICK, canvas, describe, dress

MOVED = COLOURS[4]
TOUCH = 0.02  # of the axis: the numbers of two seeds would touch
WHITE_EDGE = [withStroke(linewidth=3, foreground="white")]
LITTLE = 0.02  # a score that changes by less has not moved


def leaderboard(
    public: Mapping[str, float],
    hidden: Mapping[str, float] | None = None,
    *,
    seeds: Mapping[str, Sequence[float]] | None = None,
    own: str = "",
    begin: float = 0.0,
    ax: Axes | None = None,
) -> Figure:
    """A line for each policy, the best on top: a dot for its score, a diamond for the hidden one,
    the number of each single seed at its score.

    public, hidden: scores by name; 1 is the best shipped oracle's. A policy whose two scores differ
    has a colour. seeds: by name, the scores of seeds 1, 2 … that a score is the mean of. own:
    the name of the learner's policy, which has a colour and bold letters. begin: the lowest score
    on the axis.
    """
    hidden, seeds = hidden or {}, seeds or {}
    order = sorted(public, key=lambda name: -public[name])
    best = max(1.0, *public.values(), *hidden.values(), *sum(seeds.values(), []))
    figure, (axis,) = canvas(1, ax, height=0.4 + 0.42 * len(order))
    axis.axvline(1, color=FAINT, linestyle=":", linewidth=2)
    axis.annotate("the oracle", (1, 1), (-5, 0), xycoords=axis.get_xaxis_transform(), va="top",
                  textcoords="offset points", ha="right", fontsize=TICK, color=INK)  # fmt: skip
    for y, name in enumerate(order):
        score, unseen = public[name], hidden.get(name, public[name])
        moved = abs(score - unseen) >= LITTLE
        colour = PROTAGONISTS[0] if name == own else MOVED if moved else FAINT
        axis.plot([score, unseen], [y, y], color=colour, linewidth=2, zorder=1)
        axis.plot(score, y, "o", markersize=10, color=colour, clip_on=False)
        if moved:
            axis.plot(unseen, y, "D", markersize=9, markerfacecolor=EMPTY,
                      markeredgecolor=colour, markeredgewidth=2)  # fmt: skip
        for value, numbers in _labels(seeds.get(name, ()), TOUCH * (best - begin)):
            axis.annotate(numbers, (value, y), ha="center", va="center", fontsize=LABEL,
                          fontweight="bold", color=INK, path_effects=WHITE_EDGE)  # fmt: skip
    axis.set_yticks(range(len(order)), order)
    axis.set_ylim(len(order) - 0.4, -1.0)
    axis.set_xlim(begin, best + 0.03 * (best - begin))
    title = _finding(order, public, hidden, own, seeds)
    dress(axis, title, "score; 1 is the oracle's")
    axis.tick_params(axis="y", labelsize=LABEL, length=0)
    for label, name in zip(axis.get_yticklabels(), order, strict=True):
        label.set_weight("bold" if name == own else "normal")
    if hidden or seeds:
        dot = "mean of the seeds" if seeds else "public seeds"
        handles = axis.plot([], [], "o", color=FAINT, markersize=10, label=dot)
        if hidden:
            handles += axis.plot([], [], "D", markersize=9, markerfacecolor=EMPTY, linestyle="",
                                 markeredgewidth=2, markeredgecolor=MOVED,
                                 label="hidden seeds, if they differ")  # fmt: skip
        if seeds:
            handles += axis.plot([], [], color=INK, marker="$1$", markersize=9, linestyle="",
                                 label="one seed, by its number")  # fmt: skip
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False,
                      fontsize=TICK)  # fmt: skip
    lines = [
        f"{place}. {name} {public[name]:.3f}"
        + (f", hidden {hidden[name]:.3f}" if name in hidden else "")
        + (f", seeds {', '.join(f'{x:.3f}' for x in seeds[name])}" if name in seeds else "")
        for place, name in enumerate(order, 1)
    ]
    describe(figure, "Dots on a line for each policy, the best first.", [title, *lines])
    return figure


def _labels(scores: Sequence[float], near: float) -> list[tuple[float, str]]:
    """Where the numbers of the seeds stand; those of nearly equal scores stand together."""
    groups: list[list[tuple[float, int]]] = []
    for pair in sorted((score, number) for number, score in enumerate(scores, 1)):
        if groups and pair[0] - groups[-1][-1][0] < near:
            groups[-1].append(pair)
        else:
            groups.append([pair])
    return [(fmean(s for s, _ in each), ",".join(str(n) for _, n in each)) for each in groups]


def _finding(
    order: list[str],
    public: Mapping[str, float],
    hidden: Mapping[str, float],
    own: str,
    seeds: Mapping[str, Sequence[float]],
) -> str:
    first, second = order[:2]
    if seeds:
        apart = max(seeds[first]) - min(seeds[first])
        lead = public[first] - public[second]
        return f"{first} leads by {lead:.4f}; its seeds differ by {apart:.3f}"
    if hidden:
        fallen = max(hidden, key=lambda name: public[name] - hidden[name])
        return f"{fallen}: {public[fallen]:.2f} on public seeds, {hidden[fallen]:.2f} on hidden"
    words = f"{first} leads with {public[first]:.2f}"
    if own and own != first:
        words += f"; {own} is number {order.index(own) + 1} of {len(order)}"
    return words
