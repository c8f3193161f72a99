"""A leaderboard: each policy's score on the public traffic, and on the traffic that nobody saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, EMPTY, FAINT, INK, PROTAGONISTS
from ..guesses import mark, said
from ..picture import LABEL, TICK, canvas, describe, dress

PUBLIC, HIDDEN = COLOURS[4], COLOURS[5]


def leaderboard(
    public: Mapping[str, float],
    hidden: Mapping[str, float] | None = None,
    *,
    seeds: Mapping[str, Sequence[float]] | None = None,
    begin: float = 0.0,
    own: str = "",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line for each policy, the best on top: a dot for its score, a diamond for the hidden one, a
    stroke for each single seed. The numbers are in a column on the right.

    public, hidden: scores by name; 1 is the best shipped oracle's. seeds: by name, the scores of
    the single seeds that a score is the mean of. begin: left end of the axis; a lower score is an
    arrow there. own: the name of the learner's policy, which has a colour and bold letters. guess:
    the name of a predicted score, of `own`.
    """
    hidden, seeds = hidden or {}, seeds or {}
    order = sorted(public, key=lambda name: -public[name])
    figure, (axis,) = canvas(1, ax, height=0.5 + 0.36 * len(order))
    axis.axvline(1, color=FAINT, linestyle=":", linewidth=2)
    axis.annotate("the oracle", (1, 0), (-5, 3), xycoords=axis.get_xaxis_transform(),
                  textcoords="offset points", ha="right", va="bottom", fontsize=TICK,
                  color=INK)  # fmt: skip
    for y, name in enumerate(order):
        colour = PROTAGONISTS[0] if name == own else PUBLIC
        if name in hidden:
            axis.plot([public[name], hidden[name]], [y, y], color="#BBBBBB", linewidth=4, zorder=1)
            axis.plot(hidden[name], y, "D", markersize=9, markerfacecolor=EMPTY,
                      markeredgecolor=HIDDEN, markeredgewidth=2)  # fmt: skip
        inside = public[name] >= begin
        axis.plot(max(public[name], begin), y, "o" if inside else "<", markersize=11, color=colour,
                  markeredgecolor=INK, clip_on=False)  # fmt: skip
        axis.plot([x for x in seeds.get(name, ()) if x >= begin], [y] * sum(
            x >= begin for x in seeds.get(name, ())), "|", markersize=16, markeredgewidth=2,
            color=INK, zorder=3)  # fmt: skip
        words = f"{public[name]:.3f}" + (f"   {hidden[name]:.3f}" if name in hidden else "")
        _in_column(axis, words, y, "bold" if name == own else "normal")
    axis.set_yticks(range(len(order)), order)
    axis.set_ylim(len(order) - 0.4, -1.1)
    _in_column(axis, "public hidden" if hidden else "score", -0.95)
    right = max(1.0, *public.values(), *hidden.values(), *(max(x) for x in seeds.values()))
    axis.set_xlim(begin - 0.03 * (1 - begin), right + 0.03 * (right - begin))
    title = _finding(order, public, hidden, own, seeds) + said(guess, "{:.2f}")
    dress(axis, title, "score: mean over the matches; 1 is the oracle's")
    axis.tick_params(axis="y", labelsize=LABEL)
    for label, name in zip(axis.get_yticklabels(), order, strict=True):
        label.set_weight("bold" if name == own else "normal")
    if hidden or seeds:
        look = {"linestyle": "", "markeredgecolor": INK}
        dot = "mean of the public seeds" if seeds else "public seeds"
        handles = axis.plot([], [], "o", color=PUBLIC, markersize=11, label=dot, **look)
        if hidden:
            handles += axis.plot([], [], "D", markersize=9, markerfacecolor=EMPTY,
                                 markeredgewidth=2, label="hidden seeds",
                                 **look | {"markeredgecolor": HIDDEN})  # fmt: skip
        if seeds:
            handles += axis.plot([], [], "|", color=INK, markersize=16, markeredgewidth=2,
                                 linestyle="", label="one seed")  # fmt: skip
        if min(public.values()) < begin:
            handles += axis.plot([], [], "<", color=PUBLIC, markersize=11,
                                 label="a lower score, outside the axis", **look)  # fmt: skip
        figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False,
                      fontsize=TICK)  # fmt: skip
    mark(axis, guess)
    lines = [
        f"{place}. {name} {public[name]:.3f}"
        + (f", hidden {hidden[name]:.3f}" if name in hidden else "")
        + (f", seeds {', '.join(f'{x:.3f}' for x in seeds[name])}" if name in seeds else "")
        for place, name in enumerate(order, 1)
    ]
    describe(figure, "Dots on a line for each policy, the best first.", [title, *lines])
    return figure


def _in_column(axis: Axes, words: str, y: float, weight: str = "normal") -> None:
    axis.annotate(words, (1, y), (8, 0), xycoords=axis.get_yaxis_transform(), va="center",
                  textcoords="offset points", fontsize=TICK, color=INK, weight=weight)  # fmt: skip


def _finding(
    order: list[str],
    public: Mapping[str, float],
    hidden: Mapping[str, float],
    own: str,
    seeds: Mapping[str, Sequence[float]],
) -> str:
    if seeds and not own:
        first, second = order[:2]
        apart = max(seeds[first]) - min(seeds[first])
        lead = public[first] - public[second]
        return f"{first} leads by {lead:.4f}; its seeds differ by {apart:.3f}"
    words = [f"{order[0]} leads with {public[order[0]]:.2f}"]
    if own and own != order[0]:
        words.append(f"{own} is number {order.index(own) + 1} of {len(order)}")
    if hidden:
        both = [name for name in order if name in hidden]
        again = sorted(both, key=lambda name: -hidden[name])
        moved = sum(a != b for a, b in zip(both, again, strict=True))
        words.append(
            f"{moved} of {len(both)} policies change places on hidden seeds"
            if moved
            else "hidden seeds give the same order"
        )
    return "; ".join(words)
