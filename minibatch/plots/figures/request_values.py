"""What each request of a match was worth, over its arrival: a lane for each kind of request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import COLOURS, EMPTY, INK, WASTE, WORK
from ..picture import LABEL, TICK, canvas, describe, dress

if TYPE_CHECKING:
    from ...arena import MatchScore, Outcome

_CALM = {"markeredgecolor": INK, "markeredgewidth": 0.6, "zorder": 2}
_LOUD = {"markeredgewidth": 2.2, "zorder": 3}
LOOKS = {  # by reason: marker, colour, size, the rest
    "in time": ("o", WORK, 7, _CALM),
    "refused at once": ("s", EMPTY, 7, _CALM | {"markeredgewidth": 1.4}),
    "refused too often": ("s", COLOURS[3], 7, _CALM | {"markeredgewidth": 1.4}),
    "refused late": ("D", COLOURS[0], 7, _CALM),
    "late": ("x", WASTE, 7, _LOUD),
    "ten times late": ("v", WASTE, 10, _CALM),
    "unfinished": ("P", WASTE, 10, _CALM),
}


def request_values(
    runs: Mapping[str, tuple[Outcome, MatchScore]],
    *,
    marked: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A panel for each run: a mark for each request, at its arrival, in the lane of its kind.

    runs: by the name of the policy, the outcome of a match, and its score. marked: the id of a
    request whose mark gets a ring.
    """
    kinds = sorted({fate.kind for outcome, _ in runs.values() for fate in outcome.fates})
    figure, axes = canvas(len(runs), ax, height=0.7 + 0.42 * len(kinds))
    findings, seen = [], set()
    for axis, (name, (outcome, result)) in zip(axes, runs.items(), strict=True):
        pairs = list(zip(outcome.fates, result.values, strict=True))
        for place, kind in enumerate(kinds):
            mine = [(fate.arrival, v.reason) for fate, v in pairs if fate.kind == kind]
            if marked:
                ids = [fate.request_id for fate, _ in pairs if fate.kind == kind]
                for at in (i for i, name in enumerate(ids) if name == marked):
                    _ring(axis, mine[at][0], _height(place, at), marked)
            for reason, (marker, colour, size, look) in LOOKS.items():
                at = [(x, i) for i, (x, ended) in enumerate(mine) if ended == reason]
                ys = [_height(place, i) for _, i in at]
                axis.plot([x for x, _ in at], ys, marker, color=colour, markersize=size, **look)
                seen |= {reason} if at else set()
        findings.append(_finding(name, result))
        dress(axis, findings[-1], "arrival, seconds" if axis is axes[-1] else "")
        axis.set_yticks(range(len(kinds)), kinds)
        axis.set_ylim(len(kinds) - 0.45, -0.55)
        axis.tick_params(axis="y", labelsize=LABEL, length=0)
        axis.margins(x=0.02)
        for place in range(1, len(kinds)):
            axis.axhline(place - 0.5, color="#DDDDDD", linewidth=0.8, zorder=0)
    handles = [
        axes[0].plot([], [], marker, color=colour, markersize=size, linestyle="", label=reason,
                     **look)[0]
        for reason, (marker, colour, size, look) in LOOKS.items()
        if reason in seen
    ]  # fmt: skip
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False,
                  fontsize=TICK)  # fmt: skip
    by_kind = chain(*(_by_kind(name, result) for name, (_, result) in runs.items()))
    ring = f" A ring around request {marked}." if marked else ""
    describe(figure, f"Marks at each request's arrival, in a lane for each kind.{ring}",
             [*findings, *by_kind])  # fmt: skip
    return figure


def _height(lane: int, number: int) -> float:
    """Where a mark stands in its lane: neighbours do not lie on one another."""
    return lane + 0.14 * (number % 5 - 2)


def _ring(axis: Axes, x: float, y: float, request_id: str) -> None:
    axis.plot(x, y, "o", markersize=17, markerfacecolor="none", markeredgecolor=INK,
              markeredgewidth=2, zorder=4)  # fmt: skip
    axis.annotate(request_id, (x, y), (-12, 0), textcoords="offset points", va="center", ha="right",
                  fontsize=LABEL, weight="bold", color=INK,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})  # fmt: skip


def _finding(name: str, result: MatchScore) -> str:
    reasons = [value.reason for value in result.values]
    words = f"{name}: {reasons.count('in time')} of {len(reasons)} in time"
    if refused := sum(reason.startswith("refused") for reason in reasons):
        words += f", {refused} refused"
    return f"{words}; score {result.score:.2f}"


def _by_kind(name: str, result: MatchScore) -> Iterator[str]:
    """For the alt text: how many of each kind ended how."""
    for kind in sorted({value.kind for value in result.values}):
        counts = Counter(value.reason for value in result.values if value.kind == kind)
        ends = ", ".join(f"{counts[reason]} {reason}" for reason in LOOKS if counts[reason])
        yield f"{name}, {kind}: {ends}"
