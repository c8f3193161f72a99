"""Two runs of the same requests, one below the other, and where they part."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import INK
from ..picture import LABEL, describe
from ..spans import first_difference
from .timeline import timeline


def plan_difference(
    expected: Trace,
    yours: Trace,
    *,
    names: tuple[str, str] = ("expected", "yours"),
    ax: list[Axes] | None = None,
) -> Figure:
    """Two timelines with the first step marked whose rows differ (order in the step aside)."""
    figure = timeline(dict(zip(names, (expected, yours), strict=True)), ax=ax)
    axes = figure.axes[:2] if ax is None else ax
    number = first_difference(expected.steps, yours.steps)
    finding = "The same plan, step for step"
    if number is not None:
        finding = f"The plans part at step {number + 1}"
        for axis in axes:
            axis.axvline(number, color=INK, linestyle="--", linewidth=2)
            axis.annotate(
                f" step {number + 1}",
                (number, axis.get_ylim()[0]),
                fontsize=LABEL,
                color=INK,
                va="bottom",
                bbox={"facecolor": "white", "edgecolor": INK, "pad": 1},
            )
    if ax is None:
        figure.suptitle(finding, x=0.01, ha="left", fontsize=15, fontweight="bold", color=INK)
    describe(figure, f"{finding}.", [axis.get_title(loc="left") for axis in axes])
    return figure
