"""How many requests a second a policy serves when it always has work, and what it wastes."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import EMPTY, FADED, HATCHES, INK, WASTE, WORK
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress


def capacity(trace: Trace, *, guess: str | None = None, ax: Axes | None = None) -> Figure:
    """Requests a second: those served, and those that the wasted slots could have served.

    trace: of a run whose queue was never empty. guess: the name of a prediction of the rate.
    """
    summary = trace.summary()
    served = summary["num_requests"] / summary["duration_s"]
    possible = served / (summary["slot_utilization"] * summary["batch_fill"])
    figure, (axis,) = canvas(1, ax, height=1.1)
    axis.barh(0, served, color=WORK, edgecolor=INK, linewidth=0.8)
    burnt = {"facecolor": WASTE, "edgecolor": FADED, "hatch": HATCHES["padding"]}
    axis.barh(0, possible - served, left=served, **burnt)
    parts = ((served / 2, f"served: {served:.2f}", WORK),
             ((served + possible) / 2, f"padding: {possible - served:.2f}", EMPTY))  # fmt: skip
    for x, words, ground in parts:
        box = {"facecolor": ground, "edgecolor": "none", "pad": 2}
        look = {"ha": "center", "va": "center", "fontsize": LABEL, "color": INK}
        axis.text(x, 0, words, bbox=box, zorder=7, **look)
    finding = f"{served:.2f} a second, of {possible:.2f} if every slot yielded a token at each step"
    dress(axis, finding + said(guess), "requests a second")
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_xlim(0, possible)
    mark(axis, guess)
    describe(figure, "A bar of requests a second.", [finding])
    return figure
