"""The memory that one instruction of one warp requests, lane by lane; and, in a strip below, the
sectors that it asks for, with the waste in a loud colour."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ...kernel_lab.faults import SITES
from ...kernel_lab.instructions import BANK_BYTES, BANKS, SECTOR, Instructions
from ...kernel_lab.report import Report
from ..colours import COLOURS, FAINT, INK, WAITS, WASTE, WORK
from ..picture import LABEL, TICK, canvas, describe, dress

MOST_SECTORS = 40  # drawn; the rest are counted
USED, ASKED = COLOURS[4], "#E3E3E3"  # the numbers of a lane, in the sector that it asks for
STRIP = 34, 4  # top and height, in lanes
HEIGHT = 4.2
BANKS_HEIGHT = 2.6  # of banks: most of the picture is empty


def warp_access(report: Report, array: str, line: int = 0, *, ax: Axes | None = None) -> Figure:
    """The busiest instruction of a line on an array: lanes down; 32-byte sectors, or banks, across.

    array: its name in the kernel. line: of the kernel, or of a function that it calls; 0: any. Only
    accessed sectors are drawn, in the order of their addresses. Raises ValueError if the line does
    not access the array, or if there is no such array.
    """
    report.arrays(array)
    lines = [
        (*_rank(report, one, i), -n, one, i)
        for n, one in enumerate(report.instructions)
        if one.array.name == array
        for i in np.flatnonzero([line in (0, SITES[site].line) for site in one.site])
    ]
    if not lines:
        raise ValueError(f"line {line} does not access {array}; see report.traffic")
    *_, one, chosen = max(lines, key=lambda each: each[:5])
    height = BANKS_HEIGHT if one.array.space == "shared" else HEIGHT
    figure, (axis,) = canvas(1, ax, height=height)
    finding = draw_instruction(axis, one, chosen)
    describe(figure, "Lanes by sectors of memory, or by banks.", [finding])
    return figure


def _rank(report: Report, one: Instructions, i: int) -> tuple[bool, int, int, bool]:
    """Of two instructions the one with the higher rank is drawn; loads before stores."""
    is_own = SITES[one.site[i]].file == report.file
    return is_own, int(one.lanes[i]), int(one.passes[i]), not one.is_store[i]


def draw_instruction(axis: Axes, one: Instructions, chosen: int) -> str:
    """Draws one instruction; returns its place in the source, and what it shows."""
    rows, itemsize = np.flatnonzero(one.of == chosen), one.array.itemsize
    lanes, starts = one.lane[rows], one.columns.place[rows] * itemsize
    axis.set_ylim(32, 0)
    axis.set_yticks([0, 8, 16, 24])
    if one.array.space == "shared":
        words, passes = starts // BANK_BYTES, int(one.passes[chosen])
        met = len(set((words % BANKS).tolist()))
        _banks(axis, lanes, words)
        found = f"meet {met} bank{'s' * (met > 1)} in {passes} pass{'es' * (passes > 1)}"
        x, share = "bank of shared memory", ""
    else:
        wide = one.columns.number[rows] * itemsize
        sectors = np.unique(np.concatenate([starts // SECTOR, (starts + wide - 1) // SECTOR]))
        used, asked = int(one.elements[chosen]) * itemsize, len(sectors) * SECTOR
        did, percent = "write" if one.is_store[chosen] else "use", 100 * used / asked
        found, share = f"{did} {used:,} of the {asked:,} bytes asked for", f": {percent:.3g} %"
        below, colour = "all bytes are used", USED
        if one.is_broadcast[chosen]:
            found, share = f"use the same {used} bytes: one broadcast answers all lanes", ""
            below = "one sector for all lanes"
        elif asked > used:
            below, colour = f"{100 - percent:.3g} % of these bytes are not used", WASTE
        shown = min(len(sectors), MOST_SECTORS)
        x = "32-byte sectors that are asked for"
        x += f" (the first {shown} of {len(sectors)})" * (shown < len(sectors))
        x += "; dotted: a gap in the addresses" * bool((np.diff(sectors) > 1).any())
        _sectors(axis, sectors[:shown], lanes, starts, wide)
        _label_strip(axis, below, shown, colour)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    who = f"{len(rows)} of 32 lanes"
    dress(axis, f"{'All 32 lanes' if len(rows) == 32 else who} {found}", x, "lane of the warp")
    return f"line {SITES[one.site[chosen]].line}, {one.array.name}: {who} {found}{share}"


def _sectors(
    axis: Axes, sectors: np.ndarray, lanes: np.ndarray, starts: np.ndarray, wide: np.ndarray
) -> None:
    column = {int(sector): i for i, sector in enumerate(sectors)}
    top, high = STRIP
    asked, used = [], []
    for i, sector in enumerate(sectors):
        axis.add_patch(Rectangle((i, top), 1, high, facecolor=WASTE, edgecolor="white", lw=1))
        if i > 0 and sector != sectors[i - 1] + 1:
            look = {"color": FAINT, "linewidth": 0.9, "linestyle": (0, (2, 3)), "zorder": 1}
            axis.vlines(i, 0, top + high, **look)
    for lane, start, n in zip(lanes, starts, wide, strict=True):
        left = column.get(int(start // SECTOR))
        if left is not None:
            asked.append(Rectangle((left, lane), 1, 1))
            left, wide_as = left + start % SECTOR / SECTOR, n / SECTOR
            used += [Rectangle((left, lane), wide_as, 1), Rectangle((left, top), wide_as, high)]
    axis.add_collection(PatchCollection(asked, facecolor=ASKED, linewidth=0, zorder=2))
    axis.add_collection(PatchCollection(used, facecolor=USED, linewidth=0, zorder=3))
    axis.set_xlim(0, max(len(sectors), 4))


def _label_strip(axis: Axes, words: str, width: int, colour: str) -> None:
    """Write `words` below the strip, and its name beside it."""
    top, high = STRIP
    look = {"va": "center", "fontsize": LABEL, "fontweight": "bold", "color": colour}
    place, side = (width / 2, "center") if width > 1 else (0, "left")
    axis.text(place, top + 1.6 * high, words, ha=side, **look)
    axis.set_ylim(top + 2.2 * high, 0)
    axis.spines["left"].set_bounds(0, 32)
    name = {"xytext": (-8, 0), "textcoords": "offset points", "ha": "right", "va": "center"}
    at = (0, top + high / 2), axis.get_yaxis_transform()
    axis.annotate("asked for", at[0], xycoords=at[1], fontsize=TICK, color=INK, **name)


def _banks(axis: Axes, lanes: np.ndarray, words: np.ndarray) -> None:
    """Lanes by banks; a lane waits if it needs another word of a bank than the first lane there."""
    first: dict[int, int] = {}
    waiting = []
    for lane, word in zip(lanes, words, strict=True):
        bank = int(word % BANKS)
        waits = first.setdefault(bank, int(word)) != word
        waiting += [bank] * bool(waits)
        colour = WAITS if waits else WORK
        axis.add_patch(Rectangle((bank, lane), 1, 1, facecolor=colour, linewidth=0))
    if waiting:
        said = f"{len(waiting)} lanes wait:\na bank delivers one word in a pass"
        axis.text(max(waiting) + 1.5, 16, said, va="center", fontsize=LABEL, color=INK)
    axis.set_xlim(0, BANKS)
