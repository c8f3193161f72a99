"""The picture to share: two policies give the same answers, one of them with wasted rows."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import BURNT, INK, WASTE, WORK
from ..picture import LABEL, canvas, describe

TITLE, NUMBER, FLAG, NAME = 30, 22, 19, 17  # points: to be read as a thumbnail


def same_answers(
    static: Trace,
    continuous: Trace,
    *,
    names: tuple[str, str] = ("static", "continuous"),
    seconds: tuple[float, float] | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Rows of each step under two policies, both on one scale: equal areas are equal work.

    names: of the two panels. seconds: what each run took, written on its flag. ax: where to draw,
    two Axes. Raises ValueError if the answers differ: then the areas cannot be compared.
    """
    answers = _answers(static)
    if answers != _answers(continuous):
        raise ValueError("the two runs did not give the same answers; serve the same requests")
    figure, axes = canvas(2, ax, height=2.3)
    longest = max(len(static.steps), len(continuous.steps))
    took = [f", {number:.1f} s" for number in seconds] if seconds else ["", ""]
    for axis, trace, name, more in zip(axes, (static, continuous), names, took, strict=True):
        _draw(axis, trace, name, longest, more)
    axes[-1].set_xlabel(
        "from left to right: steps; height: rows of a step", fontsize=LABEL, color=INK
    )
    title = f"Same answers. {_num_padding(static):,} rows nobody reads."
    axes[0].set_title(title, loc="left", fontsize=TITLE, fontweight="bold", color=INK, pad=14)
    steps = f"{names[0]} in {len(static.steps):,} steps, {names[1]} in {len(continuous.steps):,}"
    describe(figure, title, [f"Both give {sum(map(len, answers.values())):,} tokens: {steps}"])
    return figure


def _answers(trace: Trace) -> dict[str, list[int]]:
    return {done.request_id: done.token_ids for done in trace.completions}


def _num_padding(trace: Trace) -> int:
    return sum(len(step.rows) - step.num_output_tokens for step in trace.steps)


def _draw(axis: Axes, trace: Trace, name: str, longest: int, took: str) -> None:
    end, height = len(trace.steps), trace.max_batch_size
    edges, rows, useful = _stretches(trace)
    axis.stairs(useful, edges, fill=True, color=WORK)
    if num_padding := _num_padding(trace):
        look = BURNT
        axis.stairs(rows, edges, baseline=useful, fill=True, linewidth=0, **look)
        place = _middle_tooth(edges, rows, useful), 0.8 * height
        _number(axis, place, f"{num_padding:,}", facecolor="white", edgecolor=WASTE)
    tokens = sum(step.num_output_tokens for step in trace.steps)
    place = 0.155 * longest, 0.17 * height
    _number(axis, place, f"{tokens:,} tokens", facecolor=WORK, edgecolor=INK)
    _flag(axis, end, 1.15 * height, longest, took)
    axis.set_ylim(0, 1.15 * height)
    axis.set_xlim(0, 1.02 * longest)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_ylabel(f"{name}\n{height} slots", fontsize=NAME, color=INK, fontweight="bold")
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def _stretches(trace: Trace) -> tuple[list[int], list[int], list[int]]:
    """Steps at which the rows change; from each to the next, the rows and the useful rows."""
    counts = [(len(step.rows), step.num_output_tokens) for step in trace.steps]
    starts = [i for i, count in enumerate(counts) if not i or count != counts[i - 1]]
    rows, useful = zip(*(counts[i] for i in starts), strict=True)
    return [*starts, len(counts)], list(rows), list(useful)


def _middle_tooth(edges: list[int], rows: list[int], useful: list[int]) -> float:
    """Where a number fits into the waste: in the wide tooth that is nearest to the middle.

    A tooth is the area between two stretches without padding.
    """
    whole = [i for i, (n, m) in enumerate(zip(rows, useful, strict=True)) if n == m]
    ends = [*whole[1:], len(rows)]
    teeth = [(edges[i + 1], edges[end]) for i, end in zip(whole, ends, strict=True)]
    widest = max(right - left for left, right in teeth)
    wide = [tooth for tooth in teeth if tooth[1] - tooth[0] > 0.9 * widest]
    left, right = min(wide, key=lambda tooth: abs(sum(tooth) - edges[-1]))
    return left + 0.57 * (right - left)  # a tooth is higher on its right


def _number(axis: Axes, place: tuple[float, float], text: str, **box: str) -> None:
    box = {"boxstyle": "round,pad=0.25", "linewidth": 2, **box}
    look = {"ha": "center", "va": "center", "fontsize": NUMBER, "fontweight": "bold", "color": INK}
    axis.text(*place, text, bbox=box, **look)


def _flag(axis: Axes, end: int, top: float, longest: int, took: str) -> None:
    """A pole at the last step; its flag on the side where there is room."""
    axis.plot([end, end], [0, 0.97 * top], color=INK, linewidth=3)
    box = {"facecolor": INK, "edgecolor": INK, "boxstyle": "square,pad=0.3"}
    side = "left" if end < 0.75 * longest else "right"
    look = {"va": "top", "fontsize": FLAG, "color": "white", "bbox": box}
    axis.text(end, 0.98 * top, f"{end:,} steps{took}", ha=side, **look)
