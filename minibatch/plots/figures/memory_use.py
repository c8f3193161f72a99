"""How every place of a pool is used, step by step, stacked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...core.records import MemoryUse
from ..colours import EMPTY, INK, UNFILLED, WAITS, WASTE, WORK
from ..guesses import mark
from ..picture import TICK, canvas, describe, dress, percent

if TYPE_CHECKING:
    from ...simulator.replay import Moment

PARTS = {  # of a MemoryUse: label and colour
    "tokens": ("holds K and V", WORK),
    "reserved": ("reserved: filled later", WAITS),
    "internal": ("internal: never filled", UNFILLED),
    "external": ("external: no request can use it", WASTE),
    "free": ("free", EMPTY),
}
PROMISED = ("promised to running requests", "#C8C8C8")  # part of the free places
EMPTY_PLACES = {"reserved": "filled later", "internal": "never filled", "external": "lost"}
MOST = 600  # stairs of a panel: more are too fine for a screen, and make a page large
SEEN = 0.03  # share of the pool: a smaller part is too thin for a label beside the promised places


def memory_use(
    runs: Mapping[str, Sequence[MemoryUse | Moment]],
    *,
    promised: Mapping[str, Sequence[int]] | None = None,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Tokens of the pool by steps, one panel a run, from the bottom: those that hold K and V,
    reserved, internal, external, free.

    runs: by name, from `engine.memory_use.memory_use` or `simulator.replay.replay`.
    promised: by the same names, for each step: free tokens that are kept for running requests.
    guess: the name of a prediction, in tokens, for the last panel.
    """
    figure, axes = canvas(len(runs), ax, height=2.1)
    findings, longest = [], max(map(len, runs.values()))
    every = -(-longest // MOST)
    for axis, (name, run) in zip(axes, runs.items(), strict=True):
        uses, kept = uses_of(run), list((promised or {}).get(name, ()))
        axis.set_xlim(0, longest)
        shown = uses[::every]
        edges, bottom = [*range(0, len(uses), every), len(uses)], [0] * len(shown)
        for part, (_, colour) in PARTS.items():
            values = [getattr(use, part) for use in shown]
            top = _stacked(axis, edges, bottom, values, colour)
            if part in EMPTY_PLACES and promised is None:
                _number(axis, edges, bottom, values, sum_of(uses[0]), EMPTY_PLACES[part])
            if part == "free" and kept:
                ends = _stacked(axis, edges, bottom, kept[::every], PROMISED[1])
                axis.stairs(ends, edges, color=INK, linewidth=0.8)
            bottom = top
        axis.stairs(bottom, edges, color=INK, linewidth=0.8)
        axis.set_ylim(0, max(bottom))
        if promised:
            axis.set_yticks([0, max(bottom) // 2, max(bottom)])
        words = _finding(uses) if promised is None else _finding_of_pool(uses, kept)
        findings.append(f"{name}: {words}")
        dress(axis, findings[-1], "step" if axis is axes[-1] else "", "tokens")
    mark(axes[-1], guess, along="y")
    least = SEEN if promised else 0
    all_uses = [uses_of(run) for run in runs.values()]
    drawn = [part for part in PARTS if any(share_of(uses, part) > least for uses in all_uses)]
    add_legend(figure, drawn, [_swatch(*PROMISED)] if promised else [])
    describe(figure, "The use of a pool's memory, by steps.", findings)
    return figure


def add_legend(
    figure: Figure, parts: Iterable[str] = PARTS, more: Sequence[Artist] = (), short: bool = False
) -> None:
    """A legend: a swatch for each of these parts, then `more`. short: only the parts' names."""
    swatches = [_swatch(*PARTS[part]) for part in parts]
    for swatch in swatches if short else ():
        swatch.set_label(swatch.get_label().partition(":")[0])
    figure.legend(handles=[*swatches, *more], loc="outside lower center", ncols=6, frameon=False,
                  fontsize=TICK)  # fmt: skip


def _swatch(label: str, colour: str) -> Patch:
    return Patch(facecolor=colour, edgecolor=INK, label=label)


def uses_of(run: Sequence[MemoryUse | Moment]) -> list[MemoryUse]:
    """The uses of a run, also of a replay."""
    return [each if isinstance(each, MemoryUse) else each.use for each in run]


def total(uses: Sequence[MemoryUse], part: str) -> int:
    """The sum of this part over all steps, in tokens."""
    return sum(getattr(use, part) for use in uses)


def share_of(uses: Sequence[MemoryUse], part: str) -> float:
    """This part as a share of the pool, over all steps."""
    return total(uses, part) / max(sum(map(sum_of, uses)), 1)


def sum_of(use: MemoryUse) -> int:
    """Tokens of the whole pool."""
    return sum(getattr(use, part) for part in PARTS)


def _finding(uses: Sequence[MemoryUse]) -> str:
    taken = sum(sum_of(use) - use.free for use in uses)
    share = total(uses, "tokens") / max(taken, 1)
    return f"{percent(share)} of the allocated memory holds tokens"


def _finding_of_pool(uses: Sequence[MemoryUse], kept: Sequence[int]) -> str:
    pool = sum_of(uses[0]) * len(uses)
    words = f"{percent(total(uses, 'tokens') / pool)} of the pool holds tokens"
    return words + (f", {percent(sum(kept) / pool)} is promised" if kept else "")


def _stacked(
    axis: Axes, edges: list[int], bottom: list[int], values: Sequence[int], colour: str
) -> list[int]:
    """Draw these values on top of `bottom`; returns their upper edges."""
    top = [low + value for low, value in zip(bottom, values, strict=True)]
    if any(values):
        axis.stairs(top, edges, baseline=bottom, fill=True, color=colour)
    return top


def _number(
    axis: Axes,
    edges: list[int],
    bottom: list[int],
    values: Sequence[int],
    pool: int,
    what: str,
) -> None:
    """Write the sum of the values where they are largest, if there is room, and `what` they are."""
    if max(values) < 0.12 * pool:
        return
    places = [i for i, value in enumerate(values) if value > 0.8 * max(values)]
    if edges[places[-1] + 1] - edges[places[0]] < 0.06 * axis.get_xlim()[1]:
        return  # it would hide the area that it counts
    at, last = places[len(places) // 2], axis.get_xlim()[1]
    x, y = min(max(edges[at], 0.2 * last), 0.8 * last), bottom[at] + values[at] / 2
    words = f"{values[at]:,} places {what}"
    axis.text(x, y, words, ha="center", va="center", fontsize=TICK, color=INK, zorder=6)
