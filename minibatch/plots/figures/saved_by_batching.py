"""The time that one step of a batch saves against one step for each row, by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ...simulator.cost import Roof, decode_step
from ...simulator.data_sheets import H100_80, LLAMA_3_8B
from ..colours import COLOURS, INK
from ..picture import LABEL, TICK, canvas, describe, dress, percent

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model

PARTS = (  # label, colour, hatch
    ("weights, read once", COLOURS[1], ""),
    ("overhead and the start of small multiplications, once", "#DDDDDD", "..."),
)
CALCULATED = {"hatch": "xx", "linestyle": (0, (4, 3)), "linewidth": 2}  # a bar that nobody measured


def saved_by_batching(
    model: Model, roof: Roof, times: list[StepTime], batch_size: int = 8
) -> Figure:
    """Two bars, in percent of the saved time: an H100 with Llama-3-8B, calculated, with hatching
    and a dashed edge; and this machine, measured.

    Saved is `batch_size` times the step of one row, less the step of `batch_size` rows, at the
    shortest context. times: from `measure.step_times`, with both sizes. The weights' part is the
    bytes of the readings that are saved, at the roof's bandwidth; the rest is the other part.
    """
    shortest = min(time.context for time in times)
    of = {time.batch_size: time for time in times if time.context == shortest}
    saved = batch_size * of[1].total_s - of[batch_size].total_s
    weights = (batch_size - 1) * roof.account(decode_step(model, 1, shortest)).weights_s
    large = (batch_size - 1) * 2 * LLAMA_3_8B.weights / H100_80.roof.bytes_per_s
    rows = {  # the saved seconds, and the weights' part of them
        f"CALCULATED, {LLAMA_3_8B.name} on an\n{H100_80.roof.name}: saves {1e3 * large:.0f} ms": (
            large,
            large,
        ),
        f"MEASURED, your machine\nand model: saves {1e3 * saved:.0f} ms": (
            saved,
            min(weights, saved),
        ),
    }
    figure, (axis,) = canvas(1, None, height=2.6)
    for place, (seconds, part) in enumerate(rows.values()):
        left = 0.0
        for (label, colour, hatch), ms in zip(PARTS, (part, seconds - part), strict=True):
            share = 100 * ms / seconds
            look = {"facecolor": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.8}
            if not place:
                look |= CALCULATED
            axis.barh(place, share, left=left, height=0.6, label=label if place else "", **look)
            if share > 5:
                plate = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                words = f"{share:.0f} %" if place else "100 %, because its account has no overhead"
                place_x = left + share / 2
                axis.text(
                    place_x, place, words, ha="center", va="center", fontsize=LABEL, bbox=plate
                )
            left += share
    axis.set_yticks(range(len(rows)), list(rows))
    axis.invert_yaxis()
    finding = f"Of the time saved here, {percent(weights / saved)} is the reading of weights"
    measured = "Upper bar: calculated. Lower bar: measured"
    dress(axis, finding, f"share of the time saved, in %: each bar is 100 %\n{measured}")
    handles, labels = axis.get_legend_handles_labels()
    named = dict(zip(labels, handles, strict=True))
    look = {"loc": "outside lower center", "ncols": 2, "fontsize": TICK, "frameon": False}
    figure.legend(named.values(), named, **look)
    describe(figure, "Two bars: the saved time by cause.", [finding, measured])
    return figure
