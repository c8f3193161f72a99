"""Rejection sampling: why accepting or drawing again gives exactly the model's probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch, Patch

from ..colours import INK, WASTE, WORK, ink_on
from ..picture import LABEL, TICK, canvas, describe, dress

AGAIN = {"facecolor": "#CFE4F5", "edgecolor": INK}
KEPT = {"facecolor": WORK, "edgecolor": INK}
LOST = {"facecolor": WASTE, "edgecolor": INK}
LEAST = 0.06  # of a piece with a number inside


def accept_or_redraw(
    p: Sequence[float], q: Sequence[float], *, ax: list[Axes] | None = None
) -> Figure:
    """Two bars for each token: what the draft model proposes (q), and what is returned (p).

    A draft token is accepted with probability min(1, p / q), so the common part of both bars is
    kept. What a token has too much in q is rejected; it is drawn again among the tokens that have
    too little. Raises ValueError if p or q does not sum to 1.
    """
    if len(p) != len(q) or abs(sum(p) - 1) > 1e-6 or abs(sum(q) - 1) > 1e-6:
        raise ValueError(f"p is {p}, q is {q}; give two lists of probabilities, each with sum 1")
    figure, (left, right) = canvas(2, ax, height=3.4, beside=True)
    kept = [min(a, b) for a, b in zip(p, q, strict=True)]
    lost = [b - k for b, k in zip(q, kept, strict=True)]
    again = [a - k for a, k in zip(p, kept, strict=True)]
    for axis, more, look in ((left, lost, LOST), (right, again, AGAIN)):
        for token, (part, rest) in enumerate(zip(kept, more, strict=True)):
            _piece(axis, token, 0, part, KEPT)
            _piece(axis, token, part, rest, look)
            axis.text(token, part + rest + 0.015, f"{'q' if axis is left else 'p'} = "
                      f"{part + rest:.2g}", ha="center", fontsize=LABEL, color=INK)  # fmt: skip
    for i, rest in enumerate(lost):
        for j, share in enumerate(again):
            if rest > 1e-9 and share > 1e-9:
                arrow = ConnectionPatch(
                    (i + 0.3, kept[i] + rest / 2), (j - 0.3, kept[j] + share / 2), "data", "data",
                    axesA=left, axesB=right, arrowstyle="-|>", mutation_scale=20, linewidth=2,
                    color=INK)  # fmt: skip
                arrow.set_in_layout(False)
                right.add_artist(arrow)
    finding = f"{sum(lost):.0%} of the draft tokens are rejected"
    dress(left, "The draft model proposes with q", "token", "probability")
    dress(right, "The returned token has exactly p", "token")
    for axis in (left, right):
        axis.set_xticks(range(len(p)))
        axis.set_xlim(-0.6, len(p) - 0.4)
        axis.set_ylim(0, max(*p, *q) + 0.1)
    looks = ("accepted: the smaller of p and q", KEPT), ("rejected", LOST), ("drawn again", AGAIN)
    figure.legend(handles=[Patch(label=label, **look) for label, look in looks],
                  loc="outside lower center", ncols=3, frameon=False, fontsize=TICK)  # fmt: skip
    tokens = [
        f"Token {i}: proposed {b:.2g}, accepted {k:.2g}, drawn again {r:.2g}, returned {a:.2g}"
        for i, (a, b, k, r) in enumerate(zip(p, q, kept, again, strict=True))
    ]
    describe(figure, "Two bars for each token.", [finding, *tokens])
    return figure


def _piece(axis: Axes, token: int, bottom: float, height: float, look: dict) -> None:
    if height < 1e-9:
        return
    axis.bar(token, height, 0.6, bottom, linewidth=1.2, **look)
    if height >= LEAST:
        axis.text(token, bottom + height / 2, f"{height:.2g}", ha="center", va="center",
                  fontsize=LABEL, color=ink_on(look["facecolor"]))  # fmt: skip
