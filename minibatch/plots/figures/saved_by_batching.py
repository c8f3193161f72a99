"""The time that one step of a batch saves against one step for each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ...simulator.cost import Roof, decode_step
from ..colours import INK
from ..picture import LABEL, TICK, canvas, describe, dress
from .cost_stack import OVERHEAD, WEIGHTS

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model

REST = ("overhead and everything else", *OVERHEAD[1:])


def saved_by_batching(
    model: Model, roof: Roof, times: list[StepTime], batch_size: int = 8
) -> Figure:
    """Two bars: `batch_size` steps of one row, and one step of `batch_size` rows.

    Both are measured, at the shortest context. times: from `measure.step_times`, with both sizes. A
    reading of the weights, at the roof's bandwidth, has a colour of its own.
    """
    shortest = min(time.context for time in times)
    of = {time.batch_size: 1e3 * time.total_s for time in times if time.context == shortest}
    weights = 1e3 * roof.account(decode_step(model, 1, shortest)).weights_s
    apart, together = batch_size * of[1], of[batch_size]
    figure, (axis,) = canvas(1, None, height=1.7)
    for place, total, read in ((0, apart, batch_size * weights), (1, together, weights)):
        _bar(axis, place, 0, min(read, total), WEIGHTS)
        _bar(axis, place, read, max(0, total - read), REST)
    axis.annotate("", (apart, 1), (together, 1),
                  arrowprops={"arrowstyle": "<->", "color": INK, "linewidth": 1.5})  # fmt: skip
    axis.text((apart + together) / 2, 1.13, f"saves {apart - together:.0f} ms",
              ha="center", va="top", fontsize=LABEL, color=INK)  # fmt: skip
    axis.set_yticks([0, 1], [f"{batch_size} steps of 1 row", f"1 step of {batch_size} rows"])
    axis.set_ylim(1.6, -0.5)
    axis.tick_params(axis="y", length=0)
    finding = f"One step of {batch_size} rows takes {together:.0f} ms instead of {apart:.0f} ms"
    dress(axis, finding, "ms")
    handles, labels = axis.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    look = {"loc": "outside lower center", "ncols": 2, "fontsize": TICK, "frameon": False}
    figure.legend(named.values(), named, **look)
    describe(figure, "Two bars: steps of one row, and one step. Both are measured.", [finding])
    return figure


def _bar(axis: Axes, y: float, left: float, width: float, part: tuple[str, str, str]) -> None:
    label, colour, hatch = part
    look = {"facecolor": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6}
    axis.barh(y, width, left=left, height=0.7, label=label, **look)
