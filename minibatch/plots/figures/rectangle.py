"""Prompts of different lengths as one rectangle: words, padding, mask and positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..colours import FADED, FAINT, HATCHES, INK, WASTE, WORK
from ..picture import TICK, canvas, describe, dress, percent

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase as Tokenizer

PITCH = 2.3  # from one prompt's row to the next, where a word is 1 high
UNDER = {"mask": 1.33, "position": 1.8}  # middles of the two lines of numbers below the words
SMALL, LARGE = 9, 13  # points
WIDTH_PT = 690  # of all cells together, on a picture 11 inches wide


def rectangle(
    tokenizer: Tokenizer,
    input_ids: torch.Tensor,
    attention_mask: torch.Tensor,
    position_ids: torch.Tensor,
    *,
    ax: Axes | None = None,
) -> Figure:
    """A cell for each place of a padded batch; under it its mask and its position.

    A frame marks the last place of each row: the next token is predicted there. Three int64
    tensors, [prompts, places]. ax: where to draw.
    """
    ids, mask, positions = (t.tolist() for t in (input_ids, attention_mask, position_ids))
    num_rows, width = len(ids), len(ids[0])
    words = [
        [_word(tokenizer, token) if real else "" for token, real in zip(*both, strict=True)]
        for both in zip(ids, mask, strict=True)
    ]
    longest = max(len(word) for row in words for word in row)
    size = max(SMALL, min(LARGE, WIDTH_PT / width / (0.56 * longest)))
    figure, (axis,) = canvas(1, ax, height=max(1.4, 0.92 * num_rows))
    for row in range(num_rows):
        top = row * PITCH
        for place in range(width):
            if mask[row][place]:
                _cell(axis, place, top, words[row][place], size)
            for text, below in ((mask, "mask"), (positions, "position")):
                faint = FAINT if not mask[row][place] else INK
                _write(axis, place + 0.5, top + UNDER[below], text[row][place], TICK, faint)
        for start, end in _runs(mask[row]):
            _padding(axis, start, end, top)
        frame = {"fill": False, "edgecolor": INK, "linewidth": 2.8, "zorder": 4}
        axis.add_patch(Rectangle((width - 1, top), 1, 1, **frame))
    wasted = sum(real == 0 for row in mask for real in row)
    places = num_rows * width
    finding = f"{wasted} of {places} places hold padding: {percent(wasted / places)}"
    dress(
        axis,
        finding,
        "framed: the last place of each line, where the model predicts the next token",
    )
    _label(axis, num_rows, width)
    texts = "; ".join(" ".join(filter(None, row)) for row in words)
    describe(figure, f"Prompts as lines of one rectangle: {texts}.", [finding])
    return figure


def _word(tokenizer: Tokenizer, token: int) -> str:
    text = tokenizer.decode([token]).strip()
    return text.removeprefix("<|").removesuffix("|>") or "·"


def _runs(mask: list[int]) -> list[tuple[int, int]]:
    """(start, end) of each stretch of padding."""
    edges = [i for i in range(len(mask) + 1) if (mask[i - 1] if i else 1) !=
             (mask[i] if i < len(mask) else 1)]  # fmt: skip
    return list(zip(edges[::2], edges[1::2], strict=True))


def _cell(axis: Axes, place: int, top: float, word: str, size: float) -> None:
    look = {"facecolor": WORK, "edgecolor": "white", "linewidth": 1.5}
    axis.add_patch(Rectangle((place, top), 1, 1, **look))
    _write(axis, place + 0.5, top + 0.5, word, size)


def _padding(axis: Axes, start: int, end: int, top: float) -> None:
    look = {"facecolor": WASTE, "edgecolor": FADED, "hatch": HATCHES["padding"], "linewidth": 0}
    axis.add_patch(Rectangle((start, top), end - start, 1, **look))
    many = f"{end - start} padding" if end - start > 1 else "1"
    box = {"facecolor": "white", "edgecolor": WASTE, "boxstyle": "round,pad=0.25"}
    _write(axis, (start + end) / 2, top + 0.5, many, LARGE, bbox=box)


def _write(axis: Axes, x: float, y: float, text: object, size: float, colour: str = INK,
           **more: object) -> None:  # fmt: skip
    axis.text(x, y, str(text), ha="center", va="center", fontsize=size, color=colour, **more)


def _label(axis: Axes, num_rows: int, width: int) -> None:
    """Names of the lines, on the left."""
    axis.set_xlim(-0.05, width + 0.05)
    axis.set_ylim(num_rows * PITCH - 0.15, -0.1)  # the first prompt on top
    lines = {"token": 0.5, **UNDER}
    ticks = [(row * PITCH + below, name) for row in range(num_rows) for name, below in
             lines.items()]  # fmt: skip
    axis.set_yticks([at for at, _ in ticks], [name for _, name in ticks], fontsize=TICK)
    axis.set_xticks([])
    axis.tick_params(length=0)
    for side in ("left", "bottom"):
        axis.spines[side].set_visible(False)
