"""One speed-up as a product of factors, in several orders."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ..colours import INK
from ..guesses import said
from ..picture import LABEL, canvas, describe, dress

LOOKS = (("#D6EAF8", ""), ("#A9CFEA", "//"), ("#F5DDB5", ".."), ("#DDDDDD", "xx"))  # calm
EDGE = "#888888"  # also of a hatch
NARROW = 1.25  # a smaller factor has no room for its number


def factors(
    orders: Mapping[object, Mapping[str, float]],
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A bar for each order, on a logarithmic axis; a piece is one factor, as long as its size.

    orders: the factors of one product, each by name and in the order in which they are switched
    on. All have the same names. guess: the name of a prediction of the size of a factor.
    """
    figure, (axis,) = canvas(1, ax, height=0.7 + 0.5 * len(orders))
    names = list(next(iter(orders.values())))
    looks = dict(zip(names, LOOKS, strict=False))
    sizes = {name: [each[name] for each in orders.values()] for name in names}
    for y, each in enumerate(orders.values()):
        product = 1.0
        for name, size in each.items():
            tint, hatch = looks[name]
            axis.barh(y, product * (size - 1), left=product, height=0.66, color=tint, hatch=hatch,
                      edgecolor=EDGE, linewidth=0.8, label=name if not y else None)  # fmt: skip
            if size >= NARROW:
                axis.text(product * size**0.5, y, f"× {size:.1f}", ha="center", va="center",
                          fontsize=LABEL, color=INK,
                          bbox={"facecolor": tint, "edgecolor": "none", "pad": 1.5})  # fmt: skip
            product *= size
        axis.annotate(f"= {product:.1f}", (product, y), (8, 0), textcoords="offset points",
                      va="center", fontsize=LABEL, color=INK)  # fmt: skip
    ranges = [f"{name} {min(found):.1f} to {max(found):.1f}" for name, found in sizes.items()]
    title = f"The same product, but each factor depends on the order{said(guess)}"
    dress(axis, title, "times the throughput of the baseline (logarithmic)")
    axis.set_xscale("log", base=2)
    axis.set_xlim(1, 1.3 * product)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_yticks(range(len(orders)), [", ".join(each) for each in orders.values()])
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.set_ylim(len(orders) - 0.4, -0.6)
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False,
                  fontsize=LABEL)  # fmt: skip
    rows = [
        " × ".join(f"{name} {size:.2f}" for name, size in each.items()) for each in orders.values()
    ]
    describe(figure, "A bar for each order, a piece for each factor.", [title, *ranges, *rows])
    return figure
