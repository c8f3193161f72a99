"""A warp, instruction by instruction: what each lane accesses, and which sectors it asks for."""

from __future__ import annotations

from itertools import cycle

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ...kernel_lab.faults import SITES
from ...kernel_lab.report import Report
from ..colours import COLOURS, FAINT, INK
from ..picture import SMALL, TICK, TITLE, Picture, describe
from .warp_access import draw_instruction

MOST_OF_THE_STRIP = 80  # instructions
MOST_NAMES = 5  # of arrays in a line of the legend
# None is like those of used and wasted bytes. An array has its colour in every film.
QUERY, VALUES, KEYS, TABLES = (COLOURS[i] for i in (3, 2, 6, 7))
OWN = {
    "quer": QUERY,
    "key": KEYS,
    "value": VALUES,
    "block": TABLES,
    "seq": "#C9B8E8",
    "out": "#A6DCC9",
}


def warp_film(report: Report, n: int = 1, *, thread_block: int = 0, warp: int = 0) -> Figure:
    """The n-th instruction of a warp that accesses memory, from 1; below it, all of them in a
    strip.

    Put it under a slider: mb.widgets.Slide(lambda n: mb.plots.warp_film(report, n), …). Raises
    ValueError if the warp accesses no memory.
    """
    frames = film_of(report, thread_block, warp)
    if not frames:
        raise ValueError(f"warp {warp} of thread block {thread_block} accesses no memory")
    n = min(max(1, n), len(frames))
    one, chosen = frames[n - 1]
    names = list(dict.fromkeys(each.array.name for each, _ in frames))
    lines = -(-len(names) // MOST_NAMES)
    figure = Picture(figsize=(11, 5.1 + 0.3 * lines), layout="constrained", facecolor="white")
    axis, strip = figure.subplots(2, 1, height_ratios=[8, 1])
    finding = draw_instruction(axis, one, chosen)
    source = SITES[one.site[chosen]].text
    axis.set_title(finding, loc="left", fontsize=TITLE, color=INK, pad=26)
    look = {"family": "monospace", "fontsize": SMALL, "color": INK, "parse_math": False}
    axis.annotate(source[:95], (0, 1), (0, 5), "axes fraction", "offset points", **look)

    first = min(max(0, n - MOST_OF_THE_STRIP // 2), max(0, len(frames) - MOST_OF_THE_STRIP))
    shown = frames[first : first + MOST_OF_THE_STRIP]
    colours = colours_of(names)
    image = [[colours[names.index(each.array.name)] for each, _ in shown]]
    ends = (first + 0.5, first + len(shown) + 0.5, 0, 1)
    strip.imshow(image, extent=ends, aspect="auto", interpolation="nearest")
    strip.axvline(n, color="white", linewidth=6)
    strip.axvline(n, color=INK, linewidth=3)
    above = {"transform": strip.get_xaxis_transform(), "clip_on": False}
    strip.plot(n, 1.13, marker="v", markersize=11, color=INK, scalex=False, **above)
    columns = -(-len(names) // lines)
    marks = [  # matplotlib fills column by column, and a reader goes line by line
        Patch(facecolor=colours[i], label=names[i])
        for column in range(columns)
        for i in range(column, len(names), columns)
    ]
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "ncols": columns, "borderaxespad": 1}
    place |= {"columnspacing": 1.2, "handlelength": 1.5}
    strip.legend(handles=marks, fontsize=TICK, frameon=False, borderpad=0, **place)
    strip.set(yticks=[])
    part = f"; the strip shows instructions {first + 1:,} to {first + len(shown):,}"
    what = f"instruction {n} of {len(frames):,}{part * (len(shown) < len(frames))}"
    strip.set_xlabel(what, fontsize=TICK, color=INK)
    strip.tick_params(labelsize=TICK, colors=FAINT)
    describe(figure, f"Instruction {n} of {len(frames)}: {source}.", [finding])
    return figure


def colours_of(names: list[str]) -> list[tuple[float, float, float]]:
    """A colour for each array: its own if its name begins like one of OWN, or else a free one."""
    own = {name: next((OWN[k] for k in OWN if name.startswith(k)), None) for name in names}
    free = cycle([colour for colour in OWN.values() if colour not in own.values()] or OWN.values())
    return [to_rgb(own[name] or next(free)) for name in names]


def film_of(report: Report, thread_block: int = 0, warp: int = 0) -> list[tuple]:
    """(Instructions, index in them) of one warp, in the order in which its first lane runs."""
    found = [
        (int(one.moment[i]), one, int(i))
        for one in report.instructions
        for i in np.flatnonzero((one.thread_block == thread_block) & (one.warp == warp))
    ]
    return [(one, i) for _, one, i in sorted(found, key=lambda each: each[0])]
