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
        raise ValueError(f"line {line} does not touch {array}; see report.traffic")
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
        words, x = starts // BANK_BYTES, "bank of shared memory; hatched: waits for another lane"
        _banks(axis, lanes, words)
        passes = int(one.passes[chosen])
        met = len(set((words % BANKS).tolist()))
        finding = f"{begin} meet {met} bank{'s' * (met > 1)} in {passes} pass{'es' * (passes > 1)}"
    else:
        sectors = np.unique(np.concatenate([starts // SECTOR, (starts + wide - 1) // SECTOR]))
        used, asked = int(one.elements[chosen]) * itemsize, len(sectors) * SECTOR
        did = "write" if one.is_store[chosen] else "use"
        finding = f"{begin} {did} {used:,} bytes and ask for {asked:,}: "
        finding += f"{100 * used / asked:.3g}% is used"
        if one.is_broadcast[chosen]:
            finding = f"{begin} use the same {used} bytes: one broadcast answers all of them"
        shown = min(len(sectors), MOST_SECTORS)
        more = f", the first {shown} of {len(sectors)} drawn" if shown < len(sectors) else ""
        gaps = "; a strong line is a gap in the addresses" * bool((np.diff(sectors) > 1).any())
        begins = dict(zip(lanes.tolist(), starts.tolist(), strict=True))
        two = [f"lane {lane} at byte {at:,}" for lane, at in sorted(begins.items())[:2]]
        x = f"32-byte sectors that are asked for{more}{gaps}\n{', '.join(two)}"
        _sectors(axis, sectors[:shown], lanes, starts, wide)
        words = f"{asked - used:,} of {asked:,} bytes in vain" if asked > used else "all is used"
        words = "one sector, for all lanes" if one.is_broadcast[chosen] else words
        _label_strip(axis, words, shown, WASTE if "vain" in words else USED)
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
        axis.axvline(i, color=INK if jump else FAINT, linewidth=0.9 if jump else 0.3, zorder=1)
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
    """Write `words` in the middle of the strip or beside it, and its name at the axis."""
    top, high = STRIP
    look = {"va": "center", "fontsize": TICK, "fontweight": "bold", "zorder": 4}
    inside = {"color": "white", "ha": "center", "bbox": {"facecolor": colour, "lw": 0, "pad": 2}}
    place, own = (width / 2, inside) if width > 1 else (width + 0.05, {"color": colour})
    axis.text(place, top + high / 2, words, **look, **own)
    axis.set_ylim(top + high, 0)
    axis.set_yticks([0, 8, 16, 24, 31, top + high / 2], [0, 8, 16, 24, 31, "asked\nfor"])


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
