"""A softmax that never sees all scores: its state after some tiles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, FAINT, INK, PROTAGONISTS, WORK
from ..picture import TICK, canvas, describe, dress


def online_softmax(
    scores: Sequence[float], tile: int, tiles: int, *, ax: Axes | None = None
) -> Figure:
    """The scores, the running maximum, and the factor by which the newest tile shrinks the sum.

    scores: of one row and head, in the order of its tokens. tile: scores in a tile. tiles: how many
    tiles have been seen."""
    scores = np.asarray(scores, float)
    seen = min(tiles * tile, len(scores))
    highest, total, shrink = -np.inf, 0.0, 1.0
    tops = []
    for start in range(0, seen, tile):
        part = scores[start : start + tile]
        before, highest = highest, max(highest, part.max())
        shrink = float(np.exp(before - highest))
        total = total * shrink + np.exp(part - highest).sum()
        tops.append((start, min(start + tile, len(scores)), highest))
    figure, (axis,) = canvas(1, ax, height=3.4)
    places = np.arange(len(scores)) + 0.5
    is_new = (places > seen - tile) & (places < seen)
    for chosen, look in (
        ((places < seen) & ~is_new, {"facecolor": WORK, "label": "tiles before"}),
        (is_new, {"facecolor": COLOURS[0], "hatch": "//", "label": "the newest tile"}),
        (places > seen, {"facecolor": "white", "linestyle": ":", "label": "not seen yet"}),
    ):
        if not chosen.any():
            continue
        axis.bar(places[chosen], scores[chosen], 0.86, edgecolor=INK, linewidth=0.6, **look)
    for begin, end, top in tops:
        axis.plot([begin, end], [top, top], color=PROTAGONISTS[0], linewidth=3)
    axis.margins(y=0.15)
    axis.axhline(0, color=FAINT, linewidth=0.8)
    (*_, (_, end, top)), old = tops, [top for *_, top in tops[-2:-1]]
    factor = [f"; before, {was:.2f}: × exp({was:.2f} − {top:.2f})" for was in old if was < top]
    says = {"fontsize": TICK + 1, "color": INK, "va": "bottom"}
    side = {"ha": "right" if end > len(scores) / 2 else "left"}
    axis.text(end, top + 0.3, f"maximum so far {top:.2f}{''.join(factor)}", **says, **side)
    before = f"the earlier sum × {shrink:.2g}; now " * bool(old)
    finding = f"After tile {len(tops)}: {before}the sum is {total:.3g}"
    dress(axis, finding, f"token, {tile} to a tile", "score")
    axis.legend(fontsize=TICK, frameon=False, ncols=3, loc="lower left")
    describe(figure, "Scores, tile by tile, with the running maximum.", [finding])
    return figure
