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
from ..colours import COLOURS, FAINT, INK, WASTE, WORK
from ..picture import TICK, canvas, describe, dress

MOST_SECTORS = 40  # drawn; the rest are counted
USED = COLOURS[4]
STRIP = 33, 4  # top and height, in lanes


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
    figure, (axis,) = canvas(1, ax, height=4.2)
    finding = draw_instruction(axis, one, chosen)
    describe(figure, "Lanes by sectors of memory, or by banks.", [finding])
    return figure


def _rank(report: Report, one: Instructions, i: int) -> tuple[bool, int, int, bool]:
    """Of two instructions the one with the higher rank is drawn; loads before stores."""
    is_own = SITES[one.site[i]].file == report.file
    return is_own, int(one.lanes[i]), int(one.passes[i]), not one.is_store[i]


def draw_instruction(axis: Axes, one: Instructions, chosen: int) -> str:
    """Draws one instruction; returns what it shows."""
    rows, itemsize = np.flatnonzero(one.of == chosen), one.array.itemsize
    lanes, starts = one.lane[rows], one.columns.place[rows] * itemsize
    wide = one.columns.number[rows] * itemsize
    begin = f"line {SITES[one.site[chosen]].line}, {one.array.name}: {len(rows)} of 32 lanes"
    axis.set_ylim(32, 0)
    axis.set_yticks([0, 8, 16, 24, 31])
    if one.array.space == "shared":
        words, x = (
            starts // BANK_BYTES,
            "bank of shared memory; hatched: the lane waits for another",
        )
        _banks(axis, lanes, words)
        passes = int(one.passes[chosen])
        met = len(set((words % BANKS).tolist()))
        finding = f"{begin} meet {met} bank{'s' * (met > 1)} in {passes} pass{'es' * (passes > 1)}"
    else:
        sectors = np.unique(np.concatenate([starts // SECTOR, (starts + wide - 1) // SECTOR]))
        used, asked = int(one.elements[chosen]) * itemsize, len(sectors) * SECTOR
        did = "write" if one.is_store[chosen] else "use"
        finding = f"{begin} {did} {used:,} of the {asked:,} bytes asked for: "
        finding += f"{100 * used / asked:.3g} %"
        if one.is_broadcast[chosen]:
            finding = f"{begin} use the same {used} bytes: one broadcast answers all lanes"
        shown = min(len(sectors), MOST_SECTORS)
        more = f"; the first {shown} of {len(sectors)} are drawn" if shown < len(sectors) else ""
        gaps = "; a dotted line is a gap in the addresses" * bool((np.diff(sectors) > 1).any())
        begins = dict(zip(lanes.tolist(), starts.tolist(), strict=True))
        two = [f"lane {lane} at byte {at:,}" for lane, at in sorted(begins.items())[:2]]
        x = f"32-byte sectors that are asked for{more}{gaps}\n{', '.join(two)}"
        _sectors(axis, sectors[:shown], lanes, starts, wide)
        words = (
            f"{asked - used:,} of {asked:,} bytes unused" if asked > used else "all bytes are used"
        )
        words = "one sector for all lanes" if one.is_broadcast[chosen] else words
        _label_strip(axis, words, shown, WASTE if "unused" in words else USED)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    dress(axis, finding, x, "lane of the warp")
    axis.tick_params(labelsize=TICK)
    return finding


def _sectors(
    axis: Axes, sectors: np.ndarray, lanes: np.ndarray, starts: np.ndarray, wide: np.ndarray
) -> None:
    column = {int(sector): i for i, sector in enumerate(sectors)}
    top, high = STRIP
    for i, sector in enumerate(sectors):
        axis.add_patch(Rectangle((i, top), 1, high, facecolor=WASTE, lw=0))
        jump = i > 0 and sector != sectors[i - 1] + 1
        look = {"linewidth": 0.9, "linestyle": (0, (2, 3))} if jump else {"linewidth": 0.3}
        axis.vlines(i, 0, top + high, color=FAINT, zorder=1, **look)
    used = []
    for lane, start, n in zip(lanes, starts, wide, strict=True):
        left = column.get(int(start // SECTOR))
        if left is not None:
            left, wide_as = left + start % SECTOR / SECTOR, n / SECTOR
            look = {"facecolor": USED, "edgecolor": INK, "linewidth": 0.4, "zorder": 2}
            axis.add_patch(Rectangle((left, lane + 0.1), wide_as, 0.8, **look))
            used.append(Rectangle((left, top), wide_as, high))
    axis.add_collection(PatchCollection(used, facecolor=USED, linewidth=0, zorder=2))
    axis.set_xlim(0, max(len(sectors), 4))


def _label_strip(axis: Axes, words: str, width: int, colour: str) -> None:
    """Write `words` below the strip, and its name at the axis."""
    top, high = STRIP
    look = {"va": "center", "fontsize": TICK, "fontweight": "bold", "color": colour}
    place, side = (width / 2, "center") if width > 1 else (0, "left")
    axis.text(place, top + 1.5 * high, words, ha=side, **look)
    axis.set_ylim(top + 2 * high, 0)
    axis.set_yticks([0, 8, 16, 24, 31, top + high], [0, 8, 16, 24, 31, "asked\nfor"])


def _banks(axis: Axes, lanes: np.ndarray, words: np.ndarray) -> None:
    """Lanes by banks; a lane waits if it needs another word of a bank than the first lane there."""
    first: dict[int, int] = {}
    for lane, word in zip(lanes, words, strict=True):
        bank = int(word % BANKS)
        waits = first.setdefault(bank, int(word)) != word
        look = {"facecolor": WASTE if waits else WORK, "hatch": "//" if waits else ""}
        box = (bank, lane + 0.1), 1, 0.8
        axis.add_patch(Rectangle(*box, edgecolor=INK, linewidth=0.4, **look))
    axis.set_xlim(0, BANKS)
    for bank in range(0, BANKS, 4):
        axis.axvline(bank, color=FAINT, linewidth=0.3, zorder=0)
