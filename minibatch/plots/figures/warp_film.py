"""A warp, instruction by instruction: what each lane accesses, and which sectors it asks for."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ...kernel_lab.faults import SITES
from ...kernel_lab.report import Report
from ..colours import INK
from ..picture import SMALL, TITLE, canvas, describe
from .warp_access import HEIGHT, draw_instruction

MOST_LETTERS = 95  # of a source line


def warp_film(report: Report, n: int = 1, *, thread_block: int = 0, warp: int = 0) -> Figure:
    """The n-th instruction of a warp that accesses memory, from 1, below its source line.

    Put it under a slider: mb.widgets.Slide(lambda n: mb.plots.warp_film(report, n), …). Raises
    ValueError if the warp accesses no memory.
    """
    frames = film_of(report, thread_block, warp)
    if not frames:
        raise ValueError(f"warp {warp} of thread block {thread_block} accesses no memory")
    n = min(max(1, n), len(frames))
    one, chosen = frames[n - 1]
    figure, (axis,) = canvas(1, None, height=HEIGHT + 0.3)
    finding = draw_instruction(axis, one, chosen)
    source = SITES[one.site[chosen]].text
    axis.set_title(axis.get_title("left"), loc="left", fontsize=TITLE, color=INK, pad=26)
    look = {"family": "monospace", "fontsize": SMALL, "color": INK, "parse_math": False}
    line = source[:MOST_LETTERS]
    axis.annotate(line, (0, 1), (0, 7), "axes fraction", "offset points", **look)
    axis.set_xlabel(f"instruction {n:,} of {len(frames):,}: {axis.get_xlabel()}")
    describe(figure, f"Instruction {n} of {len(frames)}: {source}.", [finding])
    return figure


def film_of(report: Report, thread_block: int = 0, warp: int = 0) -> list[tuple]:
    """(Instructions, index in them) of one warp, in the order in which its first lane runs."""
    found = [
        (int(one.moment[i]), one, int(i))
        for one in report.instructions
        for i in np.flatnonzero((one.thread_block == thread_block) & (one.warp == warp))
    ]
    return [(one, i) for _, one, i in sorted(found, key=lambda each: each[0])]
