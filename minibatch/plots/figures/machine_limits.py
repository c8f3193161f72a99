"""What limits a step: how fast a processor reads its memory, and how fast it computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...simulator.cost import Roof, decode_step
from ..colours import FAINT, INK
from ..picture import LABEL, TITLE, canvas, describe, dress

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model


def machine_limits(model: Model, roof: Roof, others: list[Roof] | None = None) -> Figure:
    """A memory, an arrow with its bytes a second, and a processor with its operations a second; and
    the time for the model's weights and for one row.

    others: machines whose two limits are written below. The context of the row is empty.
    """
    cost = decode_step(model, 1, 0)
    reading = f"{1e3 * cost.weight_bytes / roof.bytes_per_s:.2f} ms"
    computing = f"{1e3 * cost.flops / roof.flops_per_s:.2f} ms"
    bandwidth, flops = _limits(roof)
    figure, (axis,) = canvas(1, ax=None, height=1.6)
    _box(axis, 0, "memory", f"weights: {cost.weight_bytes / 1e6:.0f} MB")
    _box(axis, 7.6, f"processor: {flops}", f"one row: {computing}")
    axis.annotate("", (7.5, 1), (3.5, 1), arrowprops={"arrowstyle": "-|>", "mutation_scale": 22,
                  "color": INK, "linewidth": 2})  # fmt: skip
    middle = {"x": 5.5, "ha": "center", "va": "center", "color": INK}
    axis.text(y=1.35, s=f"bandwidth: {bandwidth}", fontsize=TITLE, **middle)
    axis.text(y=0.65, s=f"all weights: {reading}", fontsize=LABEL, **middle)
    beside = [f"{o.name}, by its data sheet: {' and '.join(_limits(o))}" for o in others or ()]
    axis.text(0, -0.2, "\n".join(beside), fontsize=LABEL, color=FAINT, va="top")
    axis.set_xlim(-0.02, 11.02)
    axis.set_ylim(-0.2 - 0.35 * len(beside), 2.05)
    finding = f"Reading all weights takes {reading}; computing one row takes {computing}"
    dress(axis, finding)
    axis.axis("off")
    told = f"An arrow from the memory to the processor: {bandwidth}. In the processor: {flops}."
    describe(figure, told, [finding, *beside])
    return figure


def _limits(roof: Roof) -> tuple[str, str]:
    return f"{roof.bytes_per_s / 1e9:,.0f} GB/s", f"{roof.flops_per_s / 1e9:,.0f} GFLOP/s"


def _box(axis: Axes, left: float, name: str, holds: str) -> None:
    axis.add_patch(Rectangle((left, 0.1), 3.4, 1.8, facecolor="white", edgecolor=INK, linewidth=2))
    middle = {"ha": "center", "va": "center", "color": INK}
    axis.text(left + 1.7, 1.35, name, fontsize=TITLE, **middle)
    axis.text(left + 1.7, 0.65, holds, fontsize=LABEL, **middle)
