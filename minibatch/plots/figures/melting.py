"""How rows of different length share one forward pass: the padded rectangle, the same tokens laid
end to end, and the mask that keeps them apart."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import MaxNLocator

from ...core.records import RowRecord, StepRecord
from ..colours import FADED, FAINT, HATCHES, INK, WASTE, WORK, ink_on, own_colours
from ..picture import LABEL, Picture, describe, dress

STAGES = {"1 a rectangle": 1, "2 laid end to end": 2, "3 the mask": 3}
CLOSE = 6  # tokens of the longest row in the close-up of the mask


def melting(step: StepRecord, stage: int = 1) -> Figure:
    """One step's tokens: padded to a rectangle (stage 1), laid end to end (2), and which of them
    may read which (3). Raises ValueError for another stage, and for a step without rows.
    """
    if stage not in STAGES.values() or not step.rows:
        raise ValueError(f"stage {stage} of a step of {len(step.rows)} rows; give stage 1, 2 or 3")
    draw = (_rectangle, _end_to_end, _mask)[stage - 1]
    figure = Picture(figsize=(11, 3.2), layout="constrained", facecolor="white")
    what, finding = draw(figure, step.rows)
    describe(figure, what, [finding])
    return figure


def _look(row: RowRecord) -> dict:
    """A prompt has a strong colour; one token of an answer has a calm one."""
    if row.num_tokens == 1:
        return {"facecolor": WORK, "edgecolor": INK, "linewidth": 0.8}
    look = {"facecolor": _colour(row), "edgecolor": ink_on(_colour(row)), "linewidth": 0.8}
    return look | {"hatch": HATCHES["prefill"]}


def _colour(row: RowRecord) -> str:
    return own_colours([row.request_id])[row.request_id]


def _rectangle(figure: Figure, rows: tuple[RowRecord, ...]) -> tuple[str, str]:
    axis = figure.subplots()
    width = max(row.num_tokens for row in rows)
    useful = sum(row.num_tokens for row in rows)
    for y, row in enumerate(rows):
        padding = width - row.num_tokens
        waste = {"facecolor": WASTE, "edgecolor": FADED, "hatch": HATCHES["padding"]}
        axis.barh(y, padding, height=0.86, linewidth=0.8, **waste)
        axis.barh(y, row.num_tokens, left=padding, height=0.86, **_look(row))
        text = f"{padding} padding" if padding else f"{row.request_id}: {row.num_tokens} tokens"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
        axis.text(width / 2, y, text, ha="center", va="center", fontsize=12, color=INK, bbox=box)
    axis.set_yticks(range(len(rows)), [row.request_id for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.set_xlim(0, useful)
    total = width * len(rows)
    finding = (
        f"A rectangle computes {len(rows)} × {width} = {total:,} tokens, "
        f"{total - useful:,} of them padding"
    )
    dress(axis, finding, "token of the row", "row of the batch")
    return "A rectangle of tokens, a row for each request.", finding


def _end_to_end(figure: Figure, rows: tuple[RowRecord, ...]) -> tuple[str, str]:
    axis = figure.subplots()
    starts, width = _starts(rows), max(row.num_tokens for row in rows)
    ghost = {"facecolor": "none", "edgecolor": FAINT, "linestyle": ":", "linewidth": 1.5}
    axis.add_patch(Rectangle((0, 0.7), width, len(rows) - 1.3, **ghost))
    for row, start in zip(rows, starts, strict=False):
        axis.barh(0, row.num_tokens, left=start, height=0.86, **_look(row))
        middle, short = start + row.num_tokens / 2, row.num_tokens == 1
        text = row.request_id if short else f"{row.request_id}: {row.num_tokens} tokens"
        box = None if short else {"facecolor": _colour(row), "edgecolor": "none", "pad": 1.5}
        axis.text(middle, 0, text, ha="center", va="center", fontsize=10 if short else 12,
                  color=INK if short else ink_on(_colour(row)), bbox=box)  # fmt: skip
    useful = starts[-1]
    gone = f"{width * len(rows) - useful:,} tokens fewer to compute"
    axis.text(width / 2, len(rows) / 2, gone, ha="center", va="center", fontsize=LABEL, color=INK)
    axis.set_xlim(0, useful)
    axis.set_ylim(len(rows) - 0.4, -0.6)  # the same height as the rectangle
    axis.set_yticks([])
    long = [at for row, at in zip(rows, starts, strict=False) if row.num_tokens > 1]
    axis.set_xticks(sorted({0, *long, useful}))
    finding = f"Laid end to end: {useful} tokens, no padding; borders at " + ", ".join(
        map(str, starts[1:-1])
    )
    dress(axis, finding, "token of the forward pass", "")
    axis.spines["left"].set_visible(False)
    return "The same tokens in one line.", finding


def _mask(figure: Figure, rows: tuple[RowRecord, ...]) -> tuple[str, str]:
    whole, close = figure.subplots(1, 2)
    starts = _starts(rows)
    longest = max(range(len(rows)), key=lambda i: rows[i].num_tokens)
    _blocks(whole, rows, starts, (0, starts[-1]))
    row, start = rows[longest], starts[longest]
    box = {"facecolor": "white", "edgecolor": INK, "boxstyle": "round,pad=0.3"}
    axis_text = {"fontsize": 12, "color": INK, "ha": "center", "va": "center", "bbox": box}
    whole.text(start + 0.33 * row.num_tokens, start + 0.67 * row.num_tokens, row.request_id,
               **axis_text)  # fmt: skip
    window = (max(0, start - 7), start + CLOSE) if longest else (row.num_tokens - CLOSE, starts[-1])
    _blocks(close, rows, starts, window)
    for other, begin in zip(rows, starts, strict=False):
        if other.num_tokens == 1 and window[0] <= begin < window[1]:
            close.text(begin + 0.5, begin + 0.5, other.request_id, ha="center", va="center",
                       fontsize=12, color=INK)  # fmt: skip
    allowed = sum(row.num_tokens * (row.num_tokens + 1) // 2 for row in rows)
    finding = f"The mask: {allowed:,} of {starts[-1] ** 2:,} pairs are read"
    dress(whole, finding, "token that is read", "token that reads")
    dress(close, "Close up: none across a border", "token that is read", "")
    return "A mask: a triangle on the diagonal for each request, nothing elsewhere.", finding


def _blocks(
    axis: Axes, rows: tuple[RowRecord, ...], starts: list[int], window: tuple[int, int]
) -> None:
    """The triangles that may be read, each on the diagonal, and the borders between requests."""
    for row, start in zip(rows, starts, strict=False):
        stairs = [
            corner
            for i in range(start, start + row.num_tokens)
            for corner in ((i, i), (i + 1, i), (i + 1, i + 1))
        ]
        axis.add_patch(Polygon([*stairs, (start, start + row.num_tokens)], **_look(row)))
    for border in starts:
        for line in (axis.axhline, axis.axvline):
            line(border, color=INK, linewidth=0.5, linestyle=":")
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(MaxNLocator(6, integer=True))
    axis.set_xlim(*window)
    axis.set_ylim(window[1], window[0])
    axis.set_aspect("equal")


def _starts(rows: tuple[RowRecord, ...]) -> list[int]:
    """Where each row begins, and where the last one ends."""
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + row.num_tokens)
    return starts
