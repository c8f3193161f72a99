"""What limits a step: how fast a processor reads its memory, and how fast it computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrow, Rectangle

from ...simulator.cost import Roof, StepCost, decode_step
from ..colours import COLOURS, INK
from ..picture import LABEL, SMALL, TITLE, canvas, describe, dress

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model

MEMORY, PROCESSOR = COLOURS[1], COLOURS[3]  # as weights and arithmetic in `cost_stack`
WIDTH = 11  # of the axes, in inches and in units


def machine_limits(model: Model, roof: Roof, others: list[Roof] | None = None) -> Figure:
    """A memory, a processor and two arrows: bytes a second, and operations a second; under each,
    the time for the model's weights and one row.

    others: machines whose two limits are written below. The context of the row is empty.
    """
    cost = decode_step(model, 1, 0)
    reading, computing = _ms(cost, roof)
    figure, (axis,) = canvas(1, None, height=2.3)
    _box(axis, 0, "memory", f"weights: {cost.weight_bytes / 1e6:.0f} MB,\nK and V", MEMORY, "")
    _box(axis, 5.2, "processor", "multiplies\nand adds", PROCESSOR, "\\\\")
    bandwidth, flops = _limits(roof)
    _arrow(axis, 2.1, 3.0, "bandwidth", bandwidth, f"all weights: {reading:.2f} ms")
    done = f"one row: {computing:.2f} ms"
    _arrow(axis, 7.3, 3.6, "operations a second (FLOP/s)", flops, done)
    beside = [f"{o.name}, by its data sheet: {' and '.join(_limits(o))}" for o in others or ()]
    axis.text(0, -0.25, "\n".join(beside), fontsize=LABEL, color=INK, va="top")
    axis.set_xlim(0, WIDTH)
    axis.set_ylim(-0.25 - 0.35 * len(beside), 2.05)
    finding = (
        f"Reading all weights takes {reading:.2f} ms; computing one row takes {computing:.2f} ms"
    )
    dress(axis, finding)
    axis.axis("off")
    told = f"An arrow from the memory to the processor: {bandwidth}. An arrow out of it: {flops}."
    describe(figure, told, [finding, *beside])
    return figure


def _ms(cost: StepCost, roof: Roof) -> tuple[float, float]:
    return 1e3 * cost.weight_bytes / roof.bytes_per_s, 1e3 * cost.flops / roof.flops_per_s


def _limits(roof: Roof) -> tuple[str, str]:
    return f"{roof.bytes_per_s / 1e9:,.0f} GB/s", f"{roof.flops_per_s / 1e9:,.0f} GFLOP/s"


def _box(axis: Axes, left: float, name: str, holds: str, colour: str, hatch: str) -> None:
    look = {"facecolor": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 1.2}
    axis.add_patch(Rectangle((left, 0), 2, 2, **look))
    plate = {"facecolor": "white", "edgecolor": "none", "pad": 3}
    middle = {"ha": "center", "va": "center", "color": INK, "bbox": plate}
    axis.text(left + 1, 1.6, name, fontsize=TITLE, **middle)
    axis.text(left + 1, 0.7, holds, fontsize=LABEL, **middle)


def _arrow(axis: Axes, left: float, length: float, name: str, speed: str, example: str) -> None:
    shape = {"width": 0.16, "head_width": 0.44, "head_length": 0.3, "length_includes_head": True}
    axis.add_patch(FancyArrow(left, 1, length, 0, color=INK, **shape))
    middle = {"ha": "center", "color": INK}
    axis.text(left + length / 2, 1.75, name, fontsize=SMALL, va="center", **middle)
    axis.text(left + length / 2, 1.4, speed, fontsize=TITLE, va="center", **middle)
    axis.text(left + length / 2, 0.55, example, fontsize=LABEL, va="center", **middle)
