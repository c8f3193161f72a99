"""How many prompt tokens the prefix cache finds, by the number of blocks in the pool."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from numpy import interp, log

from ...simulator.conversations import PUBLISHED, PUBLISHED_AT_MOST
from ..colours import FAINT, INK, LIMIT
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress, percent


def hit_curve(
    hits: Mapping[int, float],
    *,
    marked: Mapping[str, float] | None = None,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Tokens found, in percent, against the size of the pool, on a logarithmic axis, beside our
    count of Mooncake's trace.

    hits: share found, 0 to 1, by number of blocks. marked: by name, sizes of the pool, each with a
    line up to the curve. guess: the name of a predicted curve.
    """
    figure, (axis,) = canvas(1, ax, height=3.6)
    axis.set_xscale("log")
    blocks, shares = list(PUBLISHED), [100 * share for share in PUBLISHED.values()]
    axis.plot(blocks, shares, "D", color=FAINT, markersize=11)
    axis.axhline(100 * PUBLISHED_AT_MOST, color=FAINT, linestyle=":", linewidth=2)
    words = f"Mooncake's trace, unlimited blocks: {percent(PUBLISHED_AT_MOST)}"
    look = {"textcoords": "offset points", "fontsize": TICK, "color": INK}
    axis.annotate(words, (0.01, 100 * PUBLISHED_AT_MOST), (0, 4), **look,
                  xycoords=axis.get_yaxis_transform())  # fmt: skip
    axis.annotate("Mooncake's trace", (blocks[-1], shares[-1]), (-12, 0), **look, ha="right",
                  va="center")  # fmt: skip
    sizes = sorted(hits)
    ours = [100 * hits[size] for size in sizes]
    axis.plot(sizes, ours, "o-", color="#0072B2", linewidth=2.5, markersize=7)
    look |= {"ha": "right", "va": "center"}
    axis.annotate("this simulation", (sizes[-1], ours[-1]), (0, -18), **look)
    first, last = (percent(hits[size]) for size in (sizes[0], sizes[-1]))
    finding = f"The smallest pool finds {first} of the prompt tokens, the largest {last}"
    x = "blocks (of 512 tokens) in the pool, at full traffic"
    dress(axis, finding + said(guess), x, "% of prompt tokens found")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    axis.set_ylim(0, 1.15 * axis.get_ylim()[1])  # room for the words over the highest line
    for name, size in (marked or {}).items():
        axis.vlines(size, 0, interp(log(size), log(sizes), ours), zorder=0, **LIMIT)
        axis.annotate(name, (size, 0.03), (-4, 0), **look, xycoords=axis.get_xaxis_transform())
    mark(axis, guess)
    alt = [f"{size:,} blocks: {percent(hits[size])}" for size in sizes]
    describe(figure, "Tokens found by the size of the pool.", [finding, *alt])
    return figure
