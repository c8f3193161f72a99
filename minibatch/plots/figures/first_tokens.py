"""How long each agent waits for a first token, without the prefix cache and with it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, WORK
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress
from .prefix_tree import PALE


def first_tokens(
    seconds: Mapping[str, tuple[float, float]],
    *,
    unit: str = "s",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A bar for each agent, in the given order: its wait with the cache, inside its wait without
    it, and the quotient of the two.

    seconds: (without, with), by name. unit: of these numbers, "s" or "CPU s"; the axis shows ms.
    guess: the name of a prediction of the means' ratio.
    """
    unit = unit.removesuffix("s") + "ms"
    waits = {name: (1e3 * without, 1e3 * found) for name, (without, found) in seconds.items()}
    figure, (axis,) = canvas(1, ax, height=0.4 + 0.4 * len(seconds))
    findings, look = [], {"height": 0.62, "edgecolor": INK, "linewidth": 0.8}
    for y, (name, (without, found)) in enumerate(waits.items()):
        labels = ("with the manual in the cache", "saved by the cache") if y == 0 else (None, None)
        axis.barh(y, found, facecolor=WORK, label=labels[0], zorder=2, **look)
        axis.barh(y, without, facecolor=PALE, label=labels[1], **look)
        axis.annotate(f"{without / found:.1f} ×", (without, y), (6, 0), va="center",
                      textcoords="offset points", fontsize=TICK, color=INK)  # fmt: skip
        findings.append(f"{name}: {without:.0f} {unit} without, {found:.0f} with")
    axis.set_yticks(range(len(seconds)), list(seconds))
    axis.set_ylim(len(seconds) - 0.4, -0.6)
    without, found = (fmean(each) for each in zip(*waits.values(), strict=True))
    finding = (
        f"Without the cache, the mean TTFT is {without / found:.1f} times as long{said(guess)}"
    )
    dress(axis, finding, f"{unit} to the first token")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=LABEL)
    describe(figure, "A bar for each agent.", [finding, *findings])
    return figure
