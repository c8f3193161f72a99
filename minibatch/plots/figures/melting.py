"""How rows of different length share one forward pass: the padded rectangle, which melts into one
line of tokens, and the mask that keeps requests apart."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from ...core.records import RowRecord
from ...engine.trace import Trace
from ..colours import BURNT, FAINT, HATCHES, INK, WORK, ink_on, own_colours
from ..picture import TICK, Picture, describe, dress

STAGES = (1, 1.25, 1.5, 1.75, 2, 3)  # the rectangle, its padding leaves, the line, the mask


def melting(trace: Trace, index: int, stage: float = 1) -> Figure:
    """The tokens of the trace's step `index`, from 0.

    stage: 1 draws them padded to a rectangle, 2 in one line, and a number between them a moment of
    the way; 3 draws which keys each of them may read. Raises ValueError for another stage, and for
    a step without rows.
    """
    rows = trace.steps[index].rows
    if not (1 <= stage <= 2 or stage == 3) or not rows:
        raise ValueError(f"stage {stage} of a step of {len(rows)} rows; give 1, 2 or 3")
    figure = Picture(figsize=(11, 3.4), layout="constrained", facecolor="white")
    axis = figure.subplots()
    if stage == 3:
        what, finding = _mask(axis, rows, _cached(trace, index))
    else:
        what, finding = _melt(axis, rows, stage - 1)
    describe(figure, what, [finding])
    return figure


def _cached(trace: Trace, index: int) -> list[int]:
    """For each row of the step, the tokens of its request that were computed before."""
    before = dict.fromkeys([row.request_id for row in trace.steps[index].rows], 0)
    for step in trace.steps[:index]:
        for row in step.rows:
            if row.request_id in before:
                before[row.request_id] += row.num_tokens
    return list(before.values())


def _look(row: RowRecord) -> dict:
    """A prompt has a strong colour; one token of an answer has a calm one."""
    if row.num_tokens == 1:
        return {"facecolor": WORK, "edgecolor": INK, "linewidth": 0.8}
    look = {"facecolor": _colour(row), "edgecolor": ink_on(_colour(row)), "linewidth": 0.8}
    return look | {"hatch": HATCHES["prefill"]}


def _colour(row: RowRecord) -> str:
    return own_colours([row.request_id])[row.request_id]


def _melt(axis: Axes, rows: tuple[RowRecord, ...], melted: float) -> tuple[str, str]:
    """melted: 0 is the rectangle, 1 the line. Until 0.5 the padding shrinks, and each row moves to
    its columns of the line; then the rows close up."""
    starts, width = _starts(rows), max(row.num_tokens for row in rows)
    useful, cells = starts[-1], width * len(rows)
    moved, risen = min(1, 2 * melted), max(0, 2 * melted - 1)
    for y, (row, start) in enumerate(zip(rows, starts, strict=False)):
        padding = width - row.num_tokens
        if left_over := (1 - moved) * padding:
            axis.barh(y, left_over, 0.86, linewidth=0, **BURNT)
        left, height = padding + moved * (start - padding), (1 - risen) * y
        _cells(axis, left, height, row.num_tokens, edgecolor="white", linewidth=0.5,
               facecolor=WORK if row.num_tokens == 1 else _colour(row))  # fmt: skip
    axis.set_xlim(0, useful)
    axis.set_ylim(len(rows) - 0.4, -0.6)
    finding = f"{cells - useful:,} of {len(rows)} × {width} cells are padding"
    if melted:
        finding = f"Without the padding, {cells:,} cells become {useful}"
    axis.set_yticks([])
    if melted <= 0.5:
        axis.set_yticks(range(len(rows)), [row.request_id for row in rows])
        axis.tick_params(length=0)
    axis.spines["left"].set_visible(False)
    label = "cell of the row; hatched: padding"
    if melted == 1:
        singles = sum(row.num_tokens == 1 for row in rows)
        label = f"token of the forward pass; the first {singles}: one each of {singles} requests"
    dress(axis, finding, label, "")
    return "The tokens of one step.", finding


def _cells(axis: Axes, left: float, y: float, num: int, **look: object) -> None:
    """A bar of `num` cells in one row."""
    axis.bar([left + i + 0.5 for i in range(num)], 0.86, 1, bottom=y - 0.43, **look)


def _mask(axis: Axes, rows: tuple[RowRecord, ...], cached: list[int]) -> tuple[str, str]:
    """Keys from left to right, each request's own: those in the cache, then those of this step. A
    band is a request's tokens of this step; a single token's is drawn as high as can be seen."""
    heights = [3.0 if row.num_tokens > 1 else 1.0 for row in rows]
    top = left = num_read = 0
    for row, old, height in zip(rows, cached, heights, strict=True):
        new = row.num_tokens
        num_read += new * old + new * (new + 1) // 2
        if old:
            cache = {"facecolor": "#DDEEFA", "edgecolor": INK, "linewidth": 0.8}
            axis.add_patch(Rectangle((left, top), old, height, **cache))
        start, step = left + old, height / new
        stairs = [
            corner
            for i in range(new)
            for corner in ((start + i + 1, top + i * step), (start + i + 1, top + (i + 1) * step))
        ]
        ends = [(start, top), *stairs, (start, top + height)]
        axis.add_patch(Polygon(ends, **_look(row)))
        words = f"{row.request_id}: {new} token{'s' * (new > 1)}, {old + new} keys"
        far = left > 0.6 * sum(cached)
        at = (left - 4, "right") if far else (left + old + new + 4, "left")
        axis.text(at[0], top + height / 2, words, ha=at[1], va="center", fontsize=TICK, color=INK)
        top, left = top + height, left + old + new
        axis.axvline(left, color=FAINT, linewidth=0.5, linestyle=":")
    useful = sum(row.num_tokens for row in rows)
    finding = (
        f"Attention computes {num_read:,} of {useful * left:,} pairs: none between two requests"
    )
    axis.set_xlim(0, left)
    axis.set_ylim(top, 0)
    axis.set_yticks([])
    label = "keys of all requests, end to end; pale: in the cache; strong: of this step"
    dress(axis, finding, label, "tokens of this step")
    return "Bands on the diagonal, one for each request, and no others.", finding


def _starts(rows: tuple[RowRecord, ...]) -> list[int]:
    """Where each row begins, and where the last one ends."""
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + row.num_tokens)
    return starts
