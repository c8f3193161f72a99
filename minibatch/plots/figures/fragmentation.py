"""How much of the memory holds tokens, and how the rest is lost, allocator by allocator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, ink_on
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress
from .memory_use import PARTS, add_legend, sum_of, total, uses_of

if TYPE_CHECKING:
    from ...simulator.replay import Moment


def fragmentation(
    runs: Mapping[str, Sequence[Moment]],
    published: Sequence[float | None] = (),
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A bar for each memory, in percent of the pool, over the steps in which a request waited. A
    part below 0.5 % is drawn as a piece of the next part: two edges would be one thick line.

    runs: replays by name. published: for each of them, the share in percent that held tokens in a
    published measurement, drawn as a black line; None where there is none. guess: the name of a
    prediction, in percent, of the first.
    """
    figure, (axis,) = canvas(1, ax, height=0.6 + 0.75 * len(runs))
    shares = {}
    for y, (name, run) in enumerate(runs.items()):
        uses = uses_of([moment for moment in run if moment.waiting] or run)
        pool, left, rest = sum(map(sum_of, uses)), 0.0, 0.0
        shares[name] = 100 * total(uses, "tokens") / pool
        for part, (_, colour) in PARTS.items():
            width = rest + 100 * total(uses, part) / pool
            rest = width if width < 0.5 else 0.0
            if rest:
                continue
            look = {"facecolor": colour, "edgecolor": INK, "linewidth": 0.6}
            axis.barh(y, width, left=left, height=0.58, **look)
            if width > 7:
                axis.text(left + width / 2, y, f"{width:.0f} %", ha="center", va="center",
                          fontsize=LABEL, color=ink_on(colour))  # fmt: skip
            left += width
    lines = []
    for y, share in enumerate(published):
        if share is not None:
            look = {"color": INK, "linewidth": 3, "label": "vLLM paper"}
            lines = axis.plot([share, share], [y - 0.38, y + 0.38], **look)
    best, worst = max(shares, key=shares.get), min(shares, key=shares.get)
    finding = f"Tokens fill {shares[worst]:.0f} % ({worst}) to {shares[best]:.0f} % ({best})"
    dress(axis, finding + said(guess), "% of the pool, while a request waits")
    axis.set_yticks(range(len(runs)), list(runs), fontsize=LABEL)
    axis.set_ylim(len(runs) - 0.3, -0.4)
    axis.set_xlim(0, 100)
    mark(axis, guess)
    add_legend(figure, more=lines, short=True)
    findings = [f"{name}: {share:.1f} % of the pool holds tokens" for name, share in shares.items()]
    describe(figure, "A bar for each allocator: the use of its memory.", findings)
    return figure
