"""Where the words of an answer are kept: through the block table into the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch, Rectangle

from ..colours import EMPTY, FAINT, INK, PROTAGONISTS, WORK
from ..picture import LABEL, Picture, describe, dress

if TYPE_CHECKING:
    from ...engine.engine import Engine

MOST_BLOCKS = 6  # of the table: its newest
WORDS = 14  # characters of a token that fit into its cell
LIGHT = "#BFE6D9"  # PROTAGONISTS[0], pale enough for words


def table_and_pool(engine: Engine, request_id: str) -> Figure:
    """Above, the newest tokens of a running request as words, block by block; in the middle its
    block table; below, the pool, with an arrow from each entry to the block that it names.

    Of blocks of a few tokens, so that words can be read. Raises ValueError if it does not run.
    """
    running = {sequence.request_id: sequence for sequence in engine.scheduler.running}
    if request_id not in running:
        raise ValueError(f"request {request_id!r} does not run; running: {', '.join(running)}")
    sequence, size = running[request_id], engine.pool.block_size
    table, first = sequence.block_table, max(0, len(sequence.block_table) - MOST_BLOCKS)
    figure = Picture(figsize=(11, 5), layout="constrained", facecolor="white")
    words, pool = figure.subplots(2, 1, height_ratios=(4, 1))
    for column, index in enumerate(range(first, len(table))):
        _words(words, engine, sequence.token_ids, sequence.num_computed_tokens, index, column)
        words.add_patch(Rectangle((column + 0.28, -1.5), 0.44, 1, facecolor=EMPTY, edgecolor=INK))
        words.text(column + 0.5, -1, str(table[index]), ha="center", va="center", fontsize=LABEL)
    words.text(-0.04, -1, "block table", ha="right", va="center", fontsize=LABEL, color=INK)
    words.text(-0.04, size / 2, "tokens", ha="right", va="center", fontsize=LABEL, color=INK)
    words.set_xlim(-0.75, max(4, len(table) - first))
    words.set_ylim(-3.6, size + 0.7)
    words.axis("off")
    _pool(pool, engine, request_id)
    for column, index in enumerate(range(first, len(table))):
        arrow = ConnectionPatch((column + 0.5, -1.5), (table[index] + 0.5, 1), "data", "data",
                                axesA=words, axesB=pool, arrowstyle="-|>", color=PROTAGONISTS[0],
                                linewidth=2, mutation_scale=16)  # fmt: skip
        figure.add_artist(arrow)
    newest = sequence.num_computed_tokens - 1
    index, offset = divmod(newest, size)
    finding = (
        f"{request_id}'s token {newest}: block {index} of the table, offset {offset}"
        f" → block {table[index]} of the pool, slot {table[index] * size + offset}"
    )
    words.set_title(finding, loc="left", fontsize=15, color=INK)
    describe(figure, "Words, the block table under them, arrows to blocks of the pool.", [finding])
    return figure


def _words(
    axis: Axes, engine: Engine, token_ids: list[int], num_computed: int, index: int, column: int
) -> None:
    """One block's tokens, its first on top; the hollow ones are not there yet."""
    size = engine.pool.block_size
    axis.text(column + 0.5, size + 0.35, f"block {index}", ha="center", va="center",
              fontsize=LABEL, color=INK)  # fmt: skip
    for offset in range(size):
        place = index * size + offset
        there = place < num_computed
        look = {"facecolor": LIGHT if there else EMPTY, "edgecolor": INK if there else FAINT}
        y = size - 1 - offset
        axis.add_patch(Rectangle((column + 0.03, y + 0.05), 0.94, 0.9, linewidth=0.8, **look,
                                 hatch="" if there else "//"))  # fmt: skip
        if there:
            text = engine.model.tokenizer.decode([token_ids[place]])
            text = repr(text)[1:-1] if not text.strip() else text.strip()
            axis.text(column + 0.5, y + 0.5, text[:WORDS], ha="center", va="center", fontsize=12)


def _pool(axis: Axes, engine: Engine, request_id: str) -> None:
    """Every block once: whose it is, and its number below."""
    pool = engine.pool
    holders: dict[int, list[str]] = {}
    for sequence in engine.scheduler.running:
        for block_id in sequence.block_table:
            holders.setdefault(block_id, []).append(sequence.request_id)
    for block_id in range(pool.num_blocks):
        who = holders.get(block_id, [])
        colour = LIGHT if request_id in who else WORK if who else EMPTY
        axis.add_patch(
            Rectangle((block_id, 0), 1, 1, facecolor=colour, edgecolor=INK, linewidth=0.8)
        )
        axis.text(block_id + 0.5, 0.5, "+".join(who), ha="center", va="center", fontsize=12)
    dress(axis, "", "block of the pool; empty: free", "")
    step = max(1, pool.num_blocks // 24)
    axis.set_xticks([i + 0.5 for i in range(0, pool.num_blocks, step)],
                    [str(i) for i in range(0, pool.num_blocks, step)])  # fmt: skip
    axis.set_yticks([])
    axis.set_xlim(0, pool.num_blocks)
    axis.set_ylim(0, 1)
    axis.spines["left"].set_visible(False)
