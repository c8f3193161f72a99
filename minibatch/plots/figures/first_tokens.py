"""How long each agent waits for a first token, without the prefix cache and with it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, PROTAGONISTS, WORK
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress

FOUND, PALE = PROTAGONISTS[0], "#B7DFD1"  # as in prefix_tree


def first_tokens(
    seconds: Mapping[str, tuple[float, float]],
    *,
    unit: str = "s",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Two bars for each agent, in the given order, and the quotient of their lengths.

    seconds: (without, with), by name. unit: of these numbers, "s" or "CPU s"; the axis shows ms.
    guess: the name of a prediction of the means' ratio.
    """
    unit = unit.removesuffix("s") + "ms"
    waits = {name: (1e3 * without, 1e3 * found) for name, (without, found) in seconds.items()}
    figure, (axis,) = canvas(1, ax, height=0.4 + 0.62 * len(seconds))
    findings = []
    for y, (name, (without, found)) in enumerate(waits.items()):
        label = {"label": "whole prompt computed"} if y == 0 else {}
        axis.barh(y - 0.2, without, height=0.4, color=WORK, edgecolor=INK, linewidth=0.6, **label)
        label = {"label": "manual found in the cache"} if y == 0 else {}
        axis.barh(y + 0.2, found, height=0.4, color=PALE, hatch="////", edgecolor=FOUND,
                  linewidth=0.6, **label)  # fmt: skip
        words = f"{without / found:.1f} ×" + " as fast" * (y == 0)
        axis.annotate(words, (found, y + 0.2), (6, 0), va="center",
                      textcoords="offset points", fontsize=TICK, color=INK)  # fmt: skip
        findings.append(f"{name}: {without:.0f} {unit} without, {found:.0f} with")
    axis.set_yticks(range(len(seconds)), list(seconds))
    axis.set_ylim(len(seconds) - 0.4, -0.6)
    without, found = (fmean(each) for each in zip(*waits.values(), strict=True))
    finding = (
        f"The manual in the cache makes the mean TTFT {without / found:.1f} times "
        f"shorter{said(guess)}"
    )
    dress(axis, finding, f"{unit} to the first token")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=LABEL)
    describe(figure, "Two bars for each agent.", [finding, *findings])
    return figure
