"""What attention reads of the KV cache in each step of a run, beside the weights."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, WORK
from ..picture import LABEL, canvas, describe, dress


def kv_read(megabytes: Sequence[float], weights: float, *, ax: Axes | None = None) -> Figure:
    """Megabytes of K and V that each step reads; in words, those of the weights.

    megabytes: one number a step. weights: megabytes of weights that every step reads.
    """
    figure, (axis,) = canvas(1, ax, height=1.9)
    axis.stairs(megabytes, fill=True, color=WORK)
    axis.stairs(megabytes, color=INK, linewidth=0.8)
    finding = (
        f"{sum(megabytes):,.0f} MB of K and V in {len(megabytes)} steps, "
        f"{max(megabytes):.2f} MB at most in one step"
    )
    axis.set_xlim(0, len(megabytes))
    axis.set_ylim(0, 1.25 * max(megabytes))
    words = f"The weights add {weights:.1f} MB in every step"
    axis.text(0.99, 0.97, words, transform=axis.transAxes, ha="right", va="top", fontsize=LABEL)
    dress(axis, finding, "step: a row reads one more token in each step", "MB")
    describe(figure, "Megabytes of K and V by steps.", [finding, words])
    return figure
