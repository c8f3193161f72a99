"""A softmax that never sees all scores: its state after some tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, FAINT, INK, PROTAGONISTS, WORK
from ..picture import TICK, canvas, describe, dress


def online_softmax(
    scores: Sequence[float], tile: int, tiles: int, *, ax: list[Axes] | None = None
) -> Figure:
    """The scores and the running maximum; below, the sum after each tile, and the factor by which a
    tile with a higher maximum shrinks the sum before it.

    scores: of one row and head, in the order of its tokens. tile: scores in a tile. tiles: how many
    tiles have been seen."""
    scores = np.asarray(scores, float)
    seen = min(tiles * tile, len(scores))
    highest, total, shrink = -np.inf, 0.0, 1.0
    tops, sums = [], []
    for start in range(0, seen, tile):
        part = scores[start : start + tile]
        before, highest = highest, max(highest, part.max())
        shrink = float(np.exp(before - highest))
        total = total * shrink + np.exp(part - highest).sum()
        sums.append((start + tile / 2, total, shrink))
        tops.append((start, min(start + tile, len(scores)), highest))
    figure, (axis, below) = canvas(2, ax, height=2.6)
    places = np.arange(len(scores)) + 0.5
    is_new = (places > seen - tile) & (places < seen)
    for chosen, look in (
        ((places < seen) & ~is_new, {"facecolor": WORK, "label": "earlier tiles"}),
        (is_new, {"facecolor": COLOURS[4], "hatch": "//", "label": "the newest tile"}),
        (places > seen, {"facecolor": "white", "linestyle": ":", "label": "not read yet"}),
    ):
        if not chosen.any():
            continue
        axis.bar(places[chosen], scores[chosen], 0.86, edgecolor=INK, linewidth=0.6, **look)
    for begin, end, top in tops:
        axis.plot([begin, end], [top, top], color=PROTAGONISTS[0], linewidth=3)
    axis.margins(y=0.15)
    axis.axhline(0, color=FAINT, linewidth=0.8)
    (*_, (_, end, top)), old = tops, [top for *_, top in tops[-2:-1]]
    factor = [f" (before: {was:.2f})" for was in old if was < top]
    says = {"fontsize": TICK, "color": INK, "va": "bottom"}
    x, side = (end, "right") if end > len(scores) / 2 else (0, "left")
    axis.text(x, top + 0.3, f"maximum {top:.2f}{''.join(factor)}", ha=side, **says)
    before = f"the earlier sum is multiplied by {shrink:.2g}; " * bool(old)
    finding = f"After tile {len(tops)}: {before}the new sum is {total:.3g}"
    dress(axis, finding, "", "score")
    for middle, each, factor in sums:
        below.bar(middle, each, 0.9 * tile, color=WORK, edgecolor=INK, linewidth=0.6)
        says = {"ha": "center", "fontsize": TICK, "color": INK}
        below.text(middle, each, f"{each:.3g}", va="bottom", **says)
        if 0 < factor < 1:
            below.text(middle, each / 2, f"earlier sum\n× {factor:.2g}", va="center", **says)
    below.margins(y=0.25)
    dress(below, "", f"token; a tile has {tile} tokens", "sum so far")
    axis.legend(fontsize=TICK, frameon=False, ncols=3, loc="upper left", bbox_to_anchor=(0, 0))
    describe(figure, "Scores, tile by tile, with the running maximum.", [finding])
    return figure
