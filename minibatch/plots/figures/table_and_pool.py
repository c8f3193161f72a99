"""Where the tokens of an answer are stored: from its block table to the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch, Rectangle

from ..colours import EMPTY, FAINT, INK, WORK, colour_of, ink_on
from ..picture import LABEL, SMALL, TITLE, Picture, describe, dress

if TYPE_CHECKING:
    from ...core.request import Sequence
    from ...engine.engine import Engine

MOST_BLOCKS = 6  # of the table: its newest
WORDS = 14  # characters of a token that fit into its cell


def table_and_pool(engine: Engine, request_id: str, position: int | None = None) -> Figure:
    """Above, the newest tokens of a running request as words, block by block; in the middle its
    block table; below, the pool, with an arrow from each entry to the block that it names.

    position: of a token to outline, counted from 0; its slot below is outlined, too, and both are
    white. Words can be read only if blocks have few tokens. Raises ValueError if the request is not
    running, or if the token is not among those shown.
    """
    running = {sequence.request_id: sequence for sequence in engine.scheduler.running}
    if request_id not in running:
        raise ValueError(f"request {request_id!r} does not run; running: {', '.join(running)}")
    sequence, size = running[request_id], engine.pool.block_size
    table, first = sequence.block_table, max(0, len(sequence.block_table) - MOST_BLOCKS)
    there = range(first * size, sequence.num_computed_tokens)
    if position is not None and position not in there:
        raise ValueError(f"position {position} is not shown; give {there[0]} to {there[-1]}")
    figure = Picture(figsize=(11, 5.4), layout="constrained", facecolor="white")
    words, pool = figure.subplots(2, 1, height_ratios=(4, 1.6))
    for column, index in enumerate(range(first, len(table))):
        _words(words, engine, sequence, index, column, position)
        words.add_patch(Rectangle((column + 0.28, -1.5), 0.44, 1, facecolor=EMPTY, edgecolor=INK))
        words.text(column + 0.5, -1, str(table[index]), ha="center", va="center", fontsize=LABEL)
    words.text(-0.04, -1, "block table", ha="right", va="center", fontsize=LABEL, color=INK)
    words.text(-0.04, size / 2, "tokens", ha="right", va="center", fontsize=LABEL, color=INK)
    words.set_xlim(-0.75, max(4, len(table) - first))
    words.set_ylim(-3.6, size + 0.7)
    words.axis("off")
    slot = None if position is None else table[position // size] * size + position % size
    _pool(pool, engine, request_id, slot)
    for column, index in enumerate(range(first, len(table))):
        arrow = ConnectionPatch((column + 0.5, -1.5), (table[index] + 0.5, 1), "data", "data",
                                axesA=words, axesB=pool, arrowstyle="-|>", linewidth=2,
                                color=colour_of(request_id), mutation_scale=16)  # fmt: skip
        figure.add_artist(arrow)
    finding = f"{request_id}'s {len(there)} newest tokens, in {len(table) - first} blocks"
    if position is not None:
        index, offset = divmod(position, size)
        _outline(words, index - first + 0.03, size - 1 - offset + 0.05, 0.94, 0.9)
        _outline(pool, table[index], 1 - (offset + 1) / size, 1, 1 / size)
        finding = (
            f"{request_id}'s token {position}: entry {index} of the table, offset {offset}"
            f" → block {table[index]} of the pool, slot {slot}"
        )
    words.set_title(finding, loc="left", fontsize=TITLE, color=INK, pad=14)
    describe(figure, "Words, the block table under them, arrows to blocks of the pool.", [finding])
    return figure


def _outline(axis: Axes, x: float, y: float, width: float, height: float) -> None:
    axis.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=INK,
                             linewidth=3.5, zorder=5, clip_on=False))  # fmt: skip


def _words(
    axis: Axes,
    engine: Engine,
    sequence: Sequence,
    index: int,
    column: int,
    marked: int | None,
) -> None:
    """One block's tokens, the first on top; hatched ones are not computed yet. The token at the
    position `marked` is white."""
    size = engine.pool.block_size
    axis.text(column + 0.5, size + 0.35, f"entry {index}", ha="center", va="center",
              fontsize=LABEL, color=INK)  # fmt: skip
    for offset in range(size):
        place = index * size + offset
        there = place < sequence.num_computed_tokens
        colour = colour_of(sequence.request_id) if there and place != marked else EMPTY
        look = {"facecolor": colour, "edgecolor": INK if there else FAINT}
        y = size - 1 - offset
        axis.add_patch(Rectangle((column + 0.03, y + 0.05), 0.94, 0.9, linewidth=0.8, **look,
                                 hatch="" if there else "//"))  # fmt: skip
        if there:
            text = engine.model.tokenizer.decode([sequence.token_ids[place]])
            text = repr(text)[1:-1] if not text.strip() else text.strip()
            axis.text(column + 0.5, y + 0.5, text[:WORDS], ha="center", va="center",
                      fontsize=SMALL, color=ink_on(colour))  # fmt: skip


def _pool(axis: Axes, engine: Engine, request_id: str, slot: int | None) -> None:
    """Every block once, with its holder and its number; the block of `slot` with all its slots."""
    pool, size = engine.pool, engine.pool.block_size
    holders: dict[int, list[str]] = {}
    for sequence in engine.scheduler.running:
        for block_id in sequence.block_table:
            holders.setdefault(block_id, []).append(sequence.request_id)
    for block_id in range(pool.num_blocks):
        names = holders.get(block_id, [])
        colour = colour_of(request_id) if request_id in names else WORK if names else EMPTY
        axis.add_patch(
            Rectangle((block_id, 0), 1, 1, facecolor=colour, edgecolor=INK, linewidth=0.8)
        )
        lines, inks = ["+".join(names)], [ink_on(colour)]
        if slot is not None and block_id == slot // size:
            lines = [str(block_id * size + offset) for offset in range(size)]
            low = 1 - (slot % size + 1) / size
            inks = [INK if offset == slot % size else ink_on(colour) for offset in range(size)]
            axis.add_patch(Rectangle((block_id, low), 1, 1 / size, facecolor=EMPTY))
        look = {"ha": "center", "va": "center", "fontsize": SMALL}
        for i, (line, ink) in enumerate(zip(lines, inks, strict=True)):
            y = 1 - (i + 0.5) / len(lines)
            axis.text(block_id + 0.5, y, line, color=ink, **look)
    dress(axis, "", "block of the pool (an empty cell is a free block)", "")
    step = max(1, pool.num_blocks // 24)
    axis.set_xticks([i + 0.5 for i in range(0, pool.num_blocks, step)],
                    [str(i) for i in range(0, pool.num_blocks, step)])  # fmt: skip
    axis.set_yticks([])
    axis.set_xlim(0, pool.num_blocks)
    axis.set_ylim(0, 1)
    axis.spines["left"].set_visible(False)
