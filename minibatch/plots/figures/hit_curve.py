"""How many prompt tokens the prefix cache finds, by the number of blocks in the pool."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ...simulator.conversations import PUBLISHED, PUBLISHED_AT_MOST
from ..colours import FAINT, INK, LIMIT, PROTAGONISTS
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress, percent

MARKERS = "osD"


def hit_curve(
    hits: Mapping[int, float] | Mapping[str, Mapping[int, float]],
    *,
    published: bool = True,
    marked: Mapping[str, float] | None = None,
    x: str = "blocks (of 512 tokens) in the pool, at full traffic",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Tokens found, in percent, against the size of the pool, on a logarithmic axis.

    hits: share found, 0 to 1, by number of blocks; or several of these by name. published: also
    draw our count of Mooncake's trace. x: the label of the axis. guess: the name of a predicted
    curve. marked: by name, sizes of the pool to draw as vertical lines. ax: where to draw.
    """
    named = hits if isinstance(next(iter(hits.values())), Mapping) else {"": hits}
    figure, (axis,) = canvas(1, ax, height=3.6)
    axis.set_xscale("log")
    if published:
        look = {"color": FAINT, "markersize": 13, "linestyle": "none", "markeredgecolor": INK}
        blocks, shares = list(PUBLISHED), [100 * share for share in PUBLISHED.values()]
        axis.plot(blocks, shares, "D", **look, label="Mooncake's trace, our count")
        axis.axhline(100 * PUBLISHED_AT_MOST, color=FAINT, linestyle=":", linewidth=2)
        words = f"Mooncake's trace, unlimited blocks: {percent(PUBLISHED_AT_MOST)}"
        axis.annotate(words, (0.01, 100 * PUBLISHED_AT_MOST), (0, 4), fontsize=TICK, color=INK,
                      xycoords=axis.get_yaxis_transform(), textcoords="offset points")  # fmt: skip
    findings = []
    for number, (name, curve) in enumerate(named.items()):
        sizes = sorted(curve)
        shares = [100 * curve[size] for size in sizes]
        colour = ("#0072B2", *PROTAGONISTS)[number]
        look = {"color": colour, "linewidth": 2.5, "markersize": 8, "markeredgecolor": INK}
        axis.plot(sizes, shares, f"{MARKERS[number]}-", **look, label=name or "this workload, here")
        first, last = sizes[0], sizes[-1]
        findings.append(
            f"{name}: "
            * bool(name)
            + f"{first:,} blocks find {percent(curve[first])} of the tokens, and "
            f"{last:,} blocks find {percent(curve[last])}"
        )
    dress(axis, "\n".join(findings) + said(guess), x, "% of prompt tokens found")
    axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.0f}"))
    axis.set_ylim(0, 1.15 * axis.get_ylim()[1])  # room for the words over the highest line
    for name, size in (marked or {}).items():
        axis.axvline(size, ymax=0.72, zorder=0, **LIMIT)
        axis.annotate(name, (size, 0.03), (4, 0), xycoords=axis.get_xaxis_transform(),
                      textcoords="offset points", fontsize=TICK, color=INK)  # fmt: skip
    mark(axis, guess)
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=TICK)
    describe(figure, "Tokens found by the size of the pool.", findings)
    return figure
