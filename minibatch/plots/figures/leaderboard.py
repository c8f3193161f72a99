"""A leaderboard: each policy's score on the public traffic, and on the traffic that nobody saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, EMPTY, FAINT, INK, PROTAGONISTS
from ..picture import LABEL, TICK, canvas, describe, dress

MOVED = COLOURS[4]
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
    """A line for each policy, the best on top: a dot for its score, a diamond for the hidden one, a
    stroke for each single seed.

    public, hidden: scores by name; 1 is the best shipped oracle's. A policy whose two scores differ
    has a colour. seeds: by name, the scores of the single seeds that a score is the mean of. own:
    the name of the learner's policy, which has a colour and bold letters. begin: the lowest score
    on the axis.
    """
    hidden, seeds = hidden or {}, seeds or {}
    order = sorted(public, key=lambda name: -public[name])
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
        each = list(seeds.get(name, ()))
        axis.plot(each, [y] * len(each), "|", markersize=18, markeredgewidth=1.5, color=INK)
    axis.set_yticks(range(len(order)), order)
    axis.set_ylim(len(order) - 0.4, -1.0)
    best = max(1.0, *public.values(), *hidden.values(), *sum(seeds.values(), []))
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
            handles += axis.plot([], [], "|", color=INK, markersize=18, markeredgewidth=1.5,
                                 linestyle="", label="one seed")  # fmt: skip
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
