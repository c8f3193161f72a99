"""What one instruction of one warp asks of memory, lane by lane, and what memory has to move."""

from __future__ import annotations

from math import prod

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from ...kernel_lab.report import SECTOR, Report, warp_instructions
from ..colours import COLOURS, FAINT, INK
from ..picture import TICK, canvas, describe, dress

MOST_SECTORS = 40  # drawn; the rest are counted


def warp_access(report: Report, array: str, line: int, *, ax: Axes | None = None) -> Figure:
    """The busiest instruction of a line on a global array: lanes down, 32-byte sectors across.

    array: its name in the kernel. Only sectors that are touched are drawn, in the order of their
    addresses. Raises ValueError if that line does not touch that array.
    """
    (watched,) = (each for each in report.globals if each.name == array)
    size = prod(report.threads)
    instructions = warp_instructions(watched.accesses, size)
    here = [lanes for lanes in instructions if lanes[0].site.line == line]
    if not here:
        raise ValueError(f"line {line} does not touch {array}; see report.traffic")
    chosen = max(here, key=len)
    itemsize = watched.itemsize
    spans = [(a.thread % size % 32, a.place * itemsize, a.number * itemsize) for a in chosen]
    sectors = sorted({byte // SECTOR for _, start, n in spans for byte in (start, start + n - 1)})
    column = {sector: i for i, sector in enumerate(sectors)}
    asked = len({(start, n) for _, start, n in spans}) * spans[0][2]
    moved = len(sectors) * SECTOR

    figure, (axis,) = canvas(1, ax, height=4.2)
    shown = min(len(sectors), MOST_SECTORS)
    for i in range(shown):
        jump = i > 0 and sectors[i] != sectors[i - 1] + 1
        axis.axvline(i, color=INK if jump else FAINT, linewidth=1.4 if jump else 0.5, zorder=0)
    for lane, start, n in spans:
        left = column[start // SECTOR] + start % SECTOR / SECTOR
        if left < shown:
            box = (left, lane + 0.1), n / SECTOR, 0.8
            axis.add_patch(Rectangle(*box, facecolor=COLOURS[4], edgecolor=INK, linewidth=0.4))
    axis.set_xlim(0, shown)
    axis.set_ylim(32, 0)
    axis.set_yticks([0, 8, 16, 24, 31])
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    more = f", the first {shown} of {len(sectors)} drawn" if shown < len(sectors) else ""
    finding = (
        f"line {line}, {array}: {len(spans)} lanes ask for {asked:,} bytes and move {moved:,}: "
        f"{asked / moved:.0%} is used"
    )
    x = f"32-byte sectors that are touched{more}; a strong line is a gap in the addresses"
    dress(axis, finding, x, "lane of the warp")
    axis.tick_params(labelsize=TICK)
    describe(figure, "Lanes by sectors of memory.", [finding])
    return figure
