"""What the next token costs as a sequence grows, with and without a KV cache."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import TokenCost
from ..colours import COLOURS
from ..picture import TICK, canvas, describe, dress, with_conditions


def token_costs(costs: list[TokenCost], *, ax: Axes | None = None) -> Figure:
    """Milliseconds for one more token by the tokens there are already; both curves on one plot.

    costs: from `minibatch.bench.measure.token_costs`.
    """
    figure, (axis,) = canvas(1, ax, height=3.8)
    lengths = [cost.length for cost in costs]
    for key, label, colour, marker in (
        ("uncached_s", "everything computed again", COLOURS[5], "s--"),
        ("cached_s", "K and V kept in a cache", COLOURS[4], "o-"),
    ):
        values = [getattr(cost, key) * 1e3 for cost in costs]
        axis.plot(lengths, values, marker, color=colour, linewidth=2, markersize=7, label=label)
        axis.annotate(
            f"{values[-1]:.1f} ms",
            (lengths[-1], values[-1]),
            (0, 8),
            textcoords="offset points",
            ha="right",
            fontsize=TICK,
        )
    axis.set_ylim(0, None)
    axis.margins(y=0.12)
    axis.set_xlim(0, None)
    last = costs[-1]
    finding = (
        f"After {last.length:,} tokens, the next one costs "
        f"{last.uncached_s / last.cached_s:.0f} times as much without a cache"
    )
    dress(axis, finding, "tokens so far", with_conditions("ms for the next token", costs))
    axis.legend(loc="upper left", frameon=False, fontsize=TICK)
    describe(figure, "Two curves: milliseconds for the next token by tokens so far.", [finding])
    return figure
