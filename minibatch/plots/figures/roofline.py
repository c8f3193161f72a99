"""What a machine can reach at most, and how much of it decode steps reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ...simulator.cost import Roof, decode_step
from ..colours import FAINT, INK, PROTAGONISTS
from ..picture import LABEL, TICK, canvas, describe, dress, percent

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model

MARKERS = "os^Dv"
LINES = ("-", "--", "-.", ":")
SHARES = (0.5, 0.1)  # of the roof, as faint lines below it


def roofline(
    model: Model,
    roof: Roof,
    times: list[StepTime],
    others: list[Roof] = (),
    *,
    ax: Axes | None = None,
) -> Figure:
    """FLOP/s against FLOPs per byte read, both logarithmic: the roof as a line, and a path of
    points for each context, from the fewest rows to the most.

    times: from `measure.step_times`. others: roofs of other machines, for an inset.
    """
    figure, (axis,) = canvas(1, ax, height=4.6)
    paths = {
        context: [
            (time, decode_step(model, time.batch_size, context))
            for time in sorted(times, key=lambda time: time.batch_size)
            if time.context == context
        ]
        for context in sorted({time.context for time in times})
    }
    intensities = [step.intensity for path in paths.values() for _, step in path]
    ends = min(intensities) / 2, max(*intensities, roof.ridge) * 3
    x = np.geomspace(*ends, 200)
    for share in (1, *SHARES):
        y = [share * roof.flops_at(i) for i in x]
        look = {"color": INK if share == 1 else FAINT, "linewidth": 2 if share == 1 else 0.8}
        axis.plot(x, y, **look)
        if share < 1:
            axis.text(x[4], 1.15 * y[4], percent(share), fontsize=TICK, color=FAINT)
    limits = f"{roof.name}: {roof.bytes_per_s / 1e9:,.0f} GB/s, {_flops(roof.flops_per_s)}"
    axis.text(ends[1], 1.12 * roof.flops_per_s, limits, ha="right", fontsize=LABEL, color=INK)
    reached = [_path(axis, roof, *item, n) for n, item in enumerate(paths.items())]
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(*ends)
    axis.set_ylim(None, 2 * roof.flops_per_s)
    axis.legend(loc="upper left", frameon=False, fontsize=TICK)
    if others:
        _inset(axis, [roof, *others])
    finding = "Reached share of the roof: " + ";\n".join(reached)
    dress(axis, finding, "FLOPs per byte read", "FLOP/s")
    describe(
        figure,
        "A roofline: FLOP/s over FLOPs per byte, both logarithmic; steps below it.",
        [finding],
    )
    return figure


def _path(
    axis: Axes, roof: Roof, context: int, path: list[tuple[StepTime, object]], number: int
) -> str:
    """Draw the steps of one context; returns, in words, the share of the roof at both ends."""
    colour = PROTAGONISTS[number % len(PROTAGONISTS)]
    xs = [step.intensity for _, step in path]
    ys = [step.flops / time.total_s for time, step in path]
    look = {"color": colour, "markersize": 9, "markeredgecolor": INK, "linewidth": 2}
    axis.plot(
        xs, ys, MARKERS[number % len(MARKERS)] + "-", label=f"{context:,} tokens of context", **look
    )
    shares = []
    for place in (0, -1):
        rows = path[place][0].batch_size
        words = f"{rows} row{'' if rows == 1 else 's'}"
        shares.append(f"{percent(ys[place] / roof.flops_at(xs[place]))} with {words}")
        aside = {"xytext": (-8, 6), "ha": "right"} if number else {"xytext": (10, -14)}
        axis.annotate(words, (xs[place], ys[place]), textcoords="offset points",
                      fontsize=TICK, color=INK, **aside)  # fmt: skip
    return f"{shares[0]} of {context:,} tokens, {shares[1]}"


def _inset(axis: Axes, roofs: list[Roof]) -> None:
    """The roofs of all machines, small, with the ridge of each."""
    inset = axis.inset_axes((0.56, 0.09, 0.43, 0.5))
    x = np.geomspace(0.3, 3 * max(roof.ridge for roof in roofs), 200)
    for roof, style in zip(roofs, LINES, strict=False):
        label = f"{roof.name}, ridge at {roof.ridge:.0f}"
        inset.plot(x, [roof.flops_at(i) for i in x], style, color=INK, linewidth=2, label=label)
    inset.set_xscale("log")
    inset.set_yscale("log")
    inset.tick_params(labelsize=TICK)
    inset.legend(loc="upper left", frameon=False, fontsize=TICK)
    inset.set_ylim(None, 1e5 * max(roof.flops_per_s for roof in roofs))


def _flops(value: float) -> str:
    return f"{value / 1e12:,.0f} TFLOP/s" if value >= 1e12 else f"{value / 1e9:,.0f} GFLOP/s"
