"""The cost of the next token as a sequence grows, with and without a KV cache."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import TokenCost
from ..colours import COLOURS, WASTE
from ..guesses import guess as guess_of
from ..guesses import mark, written
from ..picture import LABEL, canvas, describe, dress

CURVES = {
    "uncached_s": ("everything computed again", WASTE, "s--"),
    "cached_s": ("K and V kept in a cache", COLOURS[4], "o-"),
}


def token_costs(
    costs: list[TokenCost], *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """Milliseconds for the next token, by the number of tokens before it; both curves on one plot.

    costs: from `minibatch.bench.measure.token_costs`. guess: the name of a predicted curve with a
    cache, in milliseconds.
    """
    figure, (axis,) = canvas(1, ax, height=3.8)
    lengths, last = [cost.length for cost in costs], costs[-1]
    for key, (label, colour, style) in CURVES.items():
        values = [getattr(cost, key) * 1e3 for cost in costs]
        axis.plot(lengths, values, style, color=colour, linewidth=2, markersize=7)
        look = {"textcoords": "offset points", "ha": "right", "fontsize": LABEL, "color": colour}
        look["xytext"] = (0, 12)
        axis.annotate(f"{label}: {written(values[-1])} ms", (lengths[-1], values[-1]), **look)
    axis.margins(x=0.03, y=0.12)
    axis.set_xlim(0, None)
    axis.set_ylim(0, None)
    finding = (
        f"After {last.length:,} tokens, the next token costs "
        f"{last.uncached_s / last.cached_s:.0f} times as much without a cache"
    )
    drawn = guess_of(guess) if guess else None
    answer = f"; your curve: {written(drawn[-1][1])} ms" if isinstance(drawn, list) else ""
    dress(
        axis, finding + answer, f"tokens so far (times: {last.conditions})", "ms for the next token"
    )
    mark(axis, guess)
    describe(figure, "Milliseconds for the next token by tokens so far.", [finding])
    return figure
