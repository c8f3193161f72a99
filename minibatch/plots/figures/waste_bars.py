"""Several runs of the same requests on one axis: what each computed in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, WASTE
from ..guesses import said
from ..picture import TICK, canvas, describe, dress


def waste_bars(
    runs: Mapping[str, Sequence[float]],
    *,
    what: str = "tokens",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A bar for each, as long as its mean; a dot for every run.

    runs: by name, tokens computed again in each of several runs, the same ones for all. what: the
    unit. guess: the name of a prediction, in percent, of how much less the best wastes than the
    worst. ax: where to draw.
    """
    figure, (axis,) = canvas(1, ax, height=0.6 + 0.45 * len(runs))
    names = list(runs)
    means = [sum(runs[name]) / len(runs[name]) for name in names]
    axis.barh(names, means, color=WASTE, edgecolor=INK, linewidth=0.5, height=0.66)
    longest = max(max(some) for some in runs.values()) or 1
    for place, (name, mean) in enumerate(zip(names, means, strict=True)):
        axis.plot(runs[name], [place] * len(runs[name]), "o", color="white", markeredgecolor=INK,
                  markersize=5, alpha=0.9)  # fmt: skip
        end = max(mean, *runs[name])
        axis.text(end + 0.015 * longest, place, f"{mean:,.0f}", va="center", fontsize=TICK,
                  color=INK, weight="bold")  # fmt: skip
    axis.invert_yaxis()
    axis.set_xlim(0, 1.12 * longest)
    order = [name for _, name in sorted(zip(means, names, strict=True))]
    finding = "Nothing is computed twice"
    if max(means):
        less = 1 - min(means) / max(means)
        finding = f"{order[0]}: {less:.0%} less is computed twice than with {order[-1]}"
    finding += said(guess)
    dress(axis, finding, f"{what} computed again: mean, and each of {len(runs[names[0]])} runs")
    axis.tick_params(axis="y", labelsize=13)
    bars = [f"{name} {mean:,.0f}" for name, mean in zip(names, means, strict=True)]
    describe(figure, f"Bars: {', '.join(bars)}.", [finding])
    return figure
