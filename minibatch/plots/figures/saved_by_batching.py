"""The time that one step of a batch saves against one step for each row, on two machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ...simulator.cost import Roof, decode_step
from ...simulator.data_sheets import H100_80, LLAMA_3_8B
from ..colours import INK
from ..picture import LABEL, TICK, canvas, describe, dress
from .cost_stack import OVERHEAD, WEIGHTS

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model

REST = ("overhead and everything else", *OVERHEAD[1:])


def saved_by_batching(
    model: Model, roof: Roof, times: list[StepTime], batch_size: int = 8
) -> Figure:
    """Two bars for each machine: `batch_size` steps of one row, and one step of `batch_size` rows.

    The upper pair is calculated: the readings of Llama-3-8B's weights on an H100. The lower pair is
    measured, at the shortest context. times: from `measure.step_times`, with both sizes. A reading
    of the weights, at the roof's bandwidth, has a colour of its own.
    """
    shortest = min(time.context for time in times)
    of = {time.batch_size: time for time in times if time.context == shortest}
    mine = 1e3 * roof.account(decode_step(model, 1, shortest)).weights_s
    large = 2e3 * LLAMA_3_8B.weights / H100_80.roof.bytes_per_s
    pairs = {
        f"{LLAMA_3_8B.name} on an {H100_80.roof.name}, calculated": (
            (batch_size * large, batch_size * large), (large, large)),
        "your machine, measured": (
            (batch_size * 1e3 * of[1].total_s, batch_size * mine),
            (1e3 * of[batch_size].total_s, mine)),
    }  # fmt: skip
    figure, (axis,) = canvas(1, None, height=3.5)
    ticks = [f"{batch_size} steps of 1 row", f"1 step of {batch_size} rows"]
    for group, (name, ((apart, _), (together, _))) in enumerate(pairs.items()):
        top = 3.2 * group
        axis.text(0, top - 0.68, name, va="center", fontsize=LABEL, weight="bold", color=INK)
        for place, (total, weights) in enumerate(pairs[name]):
            _bar(axis, top + place, 0, min(weights, total), WEIGHTS)
            _bar(axis, top + place, weights, max(0, total - weights), REST)
        axis.annotate("", (apart, top + 1), (together, top + 1),
                      arrowprops={"arrowstyle": "<->", "color": INK, "linewidth": 1.5})  # fmt: skip
        axis.text((apart + together) / 2, top + 1.13, f"saves {apart - together:.0f} ms",
                  ha="center", va="top", fontsize=LABEL, color=INK)  # fmt: skip
    axis.set_yticks([0, 1, 3.2, 4.2], 2 * ticks)
    axis.set_ylim(4.8, -1.05)
    axis.tick_params(axis="y", length=0)
    (apart, _), (together, _) = list(pairs.values())[1]
    finding = (
        f"Here, one step of {batch_size} rows takes {together:.0f} ms instead of {apart:.0f} ms"
    )
    dress(axis, finding, "ms")
    handles, labels = axis.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    look = {"loc": "outside lower center", "ncols": 2, "fontsize": TICK, "frameon": False}
    figure.legend(named.values(), named, **look)
    measured = "Upper pair: calculated. Lower pair: measured"
    describe(figure, "Two pairs of bars: steps of one row, and one step.", [finding, measured])
    return figure


def _bar(axis: Axes, y: float, left: float, width: float, part: tuple[str, str, str]) -> None:
    label, colour, hatch = part
    look = {"facecolor": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6}
    axis.barh(y, width, left=left, height=0.7, label=label, **look)
