"""Several runs of the same requests on one axis: the tokens that each computed in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, WASTE, ink_on
from ..guesses import said
from ..picture import LABEL, canvas, describe, dress, percent


def waste_bars(
    runs: Mapping[str, Sequence[float]],
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A bar for each policy, as long as its mean, with the number inside; a dot for every run.

    runs: by name, tokens computed again in each of several runs of the same requests. guess: the
    name of a prediction, in percent, of how much less the best wastes than the worst. ax: where to
    draw.
    """
    figure, (axis,) = canvas(1, ax, height=0.6 + 0.45 * len(runs))
    names = list(runs)
    means = [sum(runs[name]) / len(runs[name]) for name in names]
    axis.barh(names, means, color=WASTE, edgecolor=INK, linewidth=0.5, height=0.66)
    longest = max(max(some) for some in runs.values()) or 1
    for place, (name, mean) in enumerate(zip(names, means, strict=True)):
        axis.text(0.012 * longest, place, f"{mean:,.0f}", va="center", fontsize=LABEL,
                  color=ink_on(WASTE) if mean > 0.12 * longest else INK, weight="bold")  # fmt: skip
        axis.plot(runs[name], [place] * len(runs[name]), "o", color="white", markeredgecolor=INK,
                  markersize=7, alpha=0.9)  # fmt: skip
    axis.invert_yaxis()
    axis.set_xlim(0, 1.04 * longest)
    order = [name for _, name in sorted(zip(means, names, strict=True))]
    finding = "Nothing is recomputed"
    if max(means):
        less = 1 - min(means) / max(means)
        finding = f"“{order[0]}” wastes {percent(less)} fewer tokens than “{order[-1]}”"
    finding += said(guess)
    across = f"tokens computed again: the mean, and a dot for each of {len(runs[names[0]])} runs"
    dress(axis, finding, across)
    axis.tick_params(axis="y", labelsize=LABEL)
    bars = [f"{name} {mean:,.0f}" for name, mean in zip(names, means, strict=True)]
    describe(figure, f"Bars: {', '.join(bars)}.", [finding])
    return figure
