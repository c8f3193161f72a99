"""Kernels that compute the same, and how many times they ask for what they need."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...kernel_lab.report import Report
from ..colours import COLOURS, INK, PROTAGONISTS, WASTE, WORK
from ..picture import TICK, canvas, describe, dress

YOURS = PROTAGONISTS[0]
KINDS = (
    ("needed once", WORK, "", "black"),
    ("asked for again, by other thread blocks", COLOURS[0], "///", "black"),
    ("asked for again, by the same thread block", WASTE, "", "black"),
)


def ladder(
    rungs: dict[str, Report],
    *,
    yours: str | tuple[str, ...] = (),
    arrays: tuple[str, ...] = ("key_cache", "value_cache"),
    ax: Axes | None = None,
) -> Figure:
    """A bar for each kernel: the bytes it asks for of these arrays, as a multiple of what it needs.

    rungs: a report of each kernel, by its label; top rung first. yours: labels to mark, in another
    colour and bold.
    """
    figure, (axis,) = canvas(1, ax, height=0.9 + 0.55 * len(rungs))
    marked, labels = {yours} if isinstance(yours, str) else set(yours), []
    for y, (name, report) in enumerate(rungs.items()):
        entries = [report.of(array) for array in arrays]
        touched = sum(entry.touched for entry in entries)
        once = sum(entry.touched * entry.by_others for entry in entries) / touched
        asked = sum(entry.asked for entry in entries) / touched
        left = 0.0
        for (kind, colour, hatch, _), wide in zip(
            KINDS, (1.0, once - 1, asked - once), strict=True
        ):
            own = name in marked and colour == WORK
            look = {"color": YOURS if own else colour, "hatch": hatch, "edgecolor": INK}
            label = kind if y == 0 else None
            axis.barh(y, wide, 0.62, left, label=label, linewidth=0.6, **look)
            left += wide
        axis.text(left + 0.08, y, f"×{asked:.1f}", va="center", fontsize=TICK, color=INK)
        labels.append(f"{name} ×{asked:.1f}")
    axis.set_yticks(range(len(rungs)), list(rungs))
    axis.set_ylim(len(rungs) - 0.4, -0.6)
    axis.margins(x=0.12)
    times = sorted((each.rsplit("×")[-1] for each in labels), key=float)
    title = f"The kernels ask for {times[0]} to {times[-1]} times the bytes they need"
    dress(axis, title, "bytes of K and V asked for, in multiples of the bytes touched")
    for label, name in zip(axis.get_yticklabels(), rungs, strict=True):
        if name in marked:
            label.set(color=YOURS, fontweight="bold")
    figure.legend(loc="outside lower center", ncols=3, fontsize=TICK, frameon=False)
    describe(figure, "How many times each kernel asks for K and V.", labels)
    return figure
