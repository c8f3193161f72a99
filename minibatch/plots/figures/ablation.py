"""Which part of a policy its score comes from: one part replaced at a time, in two policies."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, INK
from ..picture import LABEL, TICK, canvas, describe, dress

IN_OWN, IN_BASE = COLOURS[4], COLOURS[7]


def ablation(
    without: Mapping[str, float],
    alone: Mapping[str, float],
    *,
    own: str = "your policy",
    base: str = "FCFS",
    ax: Axes | None = None,
) -> Figure:
    """Two bars for each part: by how much it raises the score of `own`, and that of `base`.

    without: by part, what the score of `own` changes by when the part is replaced by that of
    `base`; its bar has the opposite sign. alone: what the score of `base` changes by when it gets
    the part of `own`.
    """
    in_own = {part: 0.0 - change for part, change in without.items()}
    figure, (axis,) = canvas(1, ax, height=0.6 + 0.62 * len(without))
    values = 0.0, *in_own.values(), *alone.values()
    reach = max(0.02, max(values) - min(values))
    for y, part in enumerate(without):
        for side, value, colour, hatch in (
            (-0.2, in_own[part], IN_OWN, ""),
            (0.2, alone[part], IN_BASE, "///"),
        ):
            axis.barh(y + side, value, 0.36, facecolor=colour, edgecolor="white", hatch=hatch,
                      linewidth=0.8)  # fmt: skip
            axis.annotate(_signed(value) if abs(value) > 0.0005 else "", (value, y + side),
                          (6 if value >= 0 else -6, 0), textcoords="offset points", va="center",
                          ha="left" if value >= 0 else "right", fontsize=TICK,
                          color=INK)  # fmt: skip
    axis.axvline(0, color=INK, linewidth=1)
    axis.set_xlim(min(values) - 0.16 * reach, max(values) + 0.16 * reach)
    axis.set_yticks(range(len(without)), list(without))
    axis.set_ylim(len(without) - 0.45, -0.55)
    best = max(in_own, key=lambda part: in_own[part])
    if in_own[best] > 0:
        title = f"{own[0].upper()}{own[1:]} gains most from its {best}: {in_own[best]:.3f}"
    else:
        title = f"No part raises the score of {own}"
    dress(axis, title, "what the part adds to the score")
    axis.tick_params(axis="y", labelsize=LABEL)
    handles = [
        axis.barh([0], [0], facecolor=IN_OWN, label=f"in {own}, compared with {base}'s part"),
        axis.barh([0], [0], facecolor=IN_BASE, hatch="///", edgecolor="white",
                  label=f"in {base}, with only this part added"),
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False,
                  fontsize=TICK)  # fmt: skip
    lines = [f"{part}: in {own} {_signed(in_own[part])}, in {base} {_signed(alone[part])}"
             for part in without]  # fmt: skip
    describe(figure, "Two bars for each part of a policy.", [title, *lines])
    return figure


def _signed(number: float) -> str:
    return f"{number:+.3f}".replace("-", "−")
