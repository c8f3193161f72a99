"""What a machine could do at most, and what a step reaches of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...simulator.cost import Roof
from ..colours import COLOURS, INK
from ..picture import TICK, canvas, describe, dress

MARKERS = "os^Dv"
LINES = ("-", "--", "-.", ":")


def roofline(
    roofs: list[Roof],
    points: Mapping[str, list[tuple[float, float, str]]] | None = None,
    *,
    ax: Axes | None = None,
) -> Figure:
    """FLOP/s against FLOPs per byte read: the roofs as lines, what was measured as points.

    points: series by name, each a list of (FLOPs per byte, FLOP/s reached, label or "").
    """
    figure, (axis,) = canvas(1, ax, height=4.8)
    points = points or {}
    places = [x for series in points.values() for x, _, _ in series] + [r.ridge for r in roofs]
    reached = [y for series in points.values() for _, y, _ in series]
    left, right = min([*places, 1.0]) / 3, max(places) * 4
    x = np.geomspace(left, right, 200)
    findings = []
    for roof, style in zip(roofs, LINES, strict=False):
        words = f"{roof.name}: {roof.bytes_per_s / 1e9:,.0f} GB/s, {_flops(roof.flops_per_s)}"
        line = {"color": INK, "linewidth": 1.8, "linestyle": style, "label": words}
        axis.plot(x, [roof.flops_at(i) for i in x], **line)
        findings.append(f"{roof.name} can do {roof.ridge:.0f} FLOPs for each byte it reads")
    for number, (name, series) in enumerate(points.items()):
        colour = COLOURS[(4, 5, 2, 6, 0)[number % 5]]
        xs, ys, labels = zip(*series, strict=True)
        marker = MARKERS[number % len(MARKERS)]
        axis.plot(xs, ys, marker, color=colour, markersize=9, markeredgecolor=INK, label=name)
        for place, height, label in series:
            aside = number % 2 == 0  # the labels of two series keep out of each other's way
            near = {"xytext": (-8 if aside else 12, -18), "textcoords": "offset points"}
            near["ha"] = "right" if aside else "left"
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.5}
            axis.annotate(
                label, (place, height), fontsize=TICK, bbox=box if label else None, **near
            )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlim(left, right)
    lows = [*reached, *(roof.flops_at(left) for roof in roofs)]
    axis.set_ylim(min(lows) / 3, max(roof.flops_per_s for roof in roofs) * 4)
    if points:
        low, name = min((x, f"{name}, {label}") for name, s in points.items() for x, _, label in s)
        findings[0] += f"; {name}: {low:.1f}"
        below = [y < roofs[0].flops_at(x) for series in points.values() for x, y, _ in series]
        findings.append(
            f"{sum(below)} of {len(below)} points lie below the roof of {roofs[0].name}"
        )
    dress(axis, findings[0], "FLOPs per byte read", "FLOP/s")
    axis.legend(loc="lower right", frameon=False, fontsize=TICK)
    describe(figure, "Roofs: FLOP/s by FLOPs per byte, both logarithmic.", findings)
    return figure


def _flops(value: float) -> str:
    return f"{value / 1e12:,.0f} TFLOP/s" if value >= 1e12 else f"{value / 1e9:,.0f} GFLOP/s"
