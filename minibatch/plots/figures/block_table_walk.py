"""Which KV blocks of the pool a kernel reads, for which row, and in what order."""

from __future__ import annotations

from collections import Counter
from math import prod

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...kernel_lab.report import Report
from ..colours import EMPTY, FAINT, colour_of, ink_on
from ..picture import SMALL, canvas, describe, dress

SHARED = "#CCCCCC"  # a slot that several rows read


def block_table_walk(
    report: Report,
    cache: str = "key_cache",
    shape: tuple[int, int, int, int] | None = None,
    *,
    ax: Axes | None = None,
) -> Figure:
    """The pool, a row for each block and a cell for each slot, numbered in the order of reading.

    cache: the array's name in the kernel. shape: [blocks, block_size, kv_heads, head_dim], for a
    kernel that takes the cache flat. Colour and letter: the row of the batch, blockIdx.x, that read
    a slot; grey and hatched: several rows. Number: in which of its steps. The title says how many
    thread blocks work for a row.
    """
    watched = report.arrays(cache)[0]
    if len(shape or watched.shape) < 3:
        raise ValueError(f"{cache} has no KV blocks; give its layout by `shape`")
    blocks, block_size, *inner = shape or watched.shape
    per_slot = prod(inner)
    readers: dict[int, dict[int, int]] = {}  # slot -> {blockIdx.x: position in its reading order}
    orders: dict[int, dict[int, int]] = {}
    columns = watched.columns
    thread_blocks = columns.thread // prod(report.threads)
    blocks_x = thread_blocks % report.grid[0]
    counts = Counter((np.unique(thread_blocks) % report.grid[0]).tolist())
    for block_x, slot in zip(blocks_x.tolist(), (columns.place // per_slot).tolist(), strict=True):
        order = orders.setdefault(block_x, {})
        readers.setdefault(slot, {})[block_x] = order.setdefault(slot, len(order) + 1)

    figure, (axis,) = canvas(1, ax, height=0.5 + 0.42 * blocks)
    for block in range(blocks):
        for offset in range(block_size):
            rows = readers.get(block * block_size + offset, {})
            first = min(rows, default=None)
            colour = EMPTY if first is None else colour_of(chr(65 + first % 26))
            colour = SHARED if len(rows) > 1 else colour
            box = Rectangle((offset, block), 1, 1, facecolor=colour, edgecolor=FAINT, linewidth=0.8)
            if len(rows) > 1:
                box.set_hatch("///")
            axis.add_patch(box)
            if first is not None:
                names = "".join(chr(65 + row % 26) for row in sorted(rows))
                steps = sorted(set(rows.values()))
                step = steps[0] if len(steps) == 1 and len(names) < 4 else ""
                text = f"{names}{step}" if len(names) < 4 else f"{names[0]}…{names[-1]}"
                ink = ink_on(colour)
                middle = {"ha": "center", "va": "center", "fontsize": SMALL}
                axis.text(offset + 0.5, block + 0.52, text, color=ink, **middle)
    axis.set_xlim(0, block_size)
    axis.set_ylim(blocks, 0)
    axis.set_yticks([b + 0.5 for b in range(blocks)], [str(b) for b in range(blocks)])
    axis.set_xticks([o + 0.5 for o in range(block_size)], [str(o) for o in range(block_size)])
    walks = [
        f"{chr(65 + row % 26)} "
        + " → ".join(str(b) for b in dict.fromkeys(slot // block_size for slot in order))
        + f" by {counts[row]} thread blocks" * (counts[row] > 1)
        for row, order in sorted(orders.items())
    ]
    shared = sum(len(rows) > 1 for rows in readers.values())
    more = "; …" if len(walks) > 6 else ""
    finding = f"{cache}, KV block by KV block: {'; '.join(walks[:6])}{more}"
    hatched = f" (hatched: {shared} slots that several rows read)" if shared else ""
    dress(axis, finding, f"offset in the KV block{hatched}", "KV block of the pool")
    describe(figure, "The pool's slots, and the order in which the rows read them.", [finding])
    return figure
