"""A kernel's source with what every line costs: bytes of global memory, and faults."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...kernel_lab.report import Report
from ..colours import COLOURS, FAINT, INK
from ..picture import canvas, describe, dress

WIDTH = 100  # characters of source
CODE = 9.5  # points


def source_heat(report: Report, *, ax: Axes | None = None) -> Figure:
    """The kernel's lines; left of each, a bar as long as the bytes it moved, hatched where wasted.

    A line with a fault is marked with ✗ and boxed. Raises ValueError where there is no source.
    """
    if not report.source:
        raise ValueError("Python cannot find this kernel's source")
    moved = {line: n for line, (n, _) in report.bytes_by_line.items()}
    asked = {line: n for line, (_, n) in report.bytes_by_line.items()}
    faulty = {fault.line for fault in report.faults if fault.site.file == report.file}
    total, most = sum(moved.values()) or 1, max(moved.values(), default=1)

    figure, (axis,) = canvas(1, ax, height=0.3 + 0.185 * len(report.source))
    for y, (number, text) in enumerate(report.source.items()):
        share = moved.get(number, 0) / most
        used = share * asked.get(number, 0) / max(1, moved.get(number, 0))
        text_at = {"va": "center", "fontsize": CODE}
        if share:
            wasted = {"facecolor": "white", "edgecolor": COLOURS[5], "hatch": "////"}
            axis.add_patch(Rectangle((-14 * share - 6, y + 0.1), 14 * share, 0.8, lw=0, **wasted))
            solid = {"facecolor": COLOURS[4]}
            axis.add_patch(Rectangle((-14 * used - 6, y + 0.1), 14 * used, 0.8, **solid))
            percent = f"{moved[number] / total:.0%}" if moved[number] * 100 > total else "<1%"
            axis.text(-21, y + 0.5, percent, ha="right", color=INK, **text_at)
        mark = "✗ " if number in faulty else ""
        ink = INK if mark else FAINT
        axis.text(-0.5, y + 0.5, f"{mark}{number}", ha="right", color=ink, **text_at)
        code = {"family": "monospace", "color": INK, "parse_math": False}
        axis.text(0.5, y + 0.5, text[:WIDTH], **code, **text_at)
        if mark:
            box = {"fill": False, "edgecolor": COLOURS[5], "linewidth": 1.5}
            axis.add_patch(Rectangle((0, y), WIDTH, 1, **box))
    axis.set_xlim(-27, WIDTH)
    axis.set_ylim(len(report.source), 0)
    axis.set_axis_off()
    hottest = max(moved, key=moved.get, default=None)
    finding = "this kernel moves no global memory"
    if hottest is not None:
        finding = (
            f"line {hottest} moves {moved[hottest] / total:.0%} of {total:,} bytes; "
            f"{asked[hottest] / moved[hottest]:.0%} of them are used (solid), the rest not"
        )
    if report.faults:
        finding += f"; {len(report.faults)} fault{'s' if len(report.faults) > 1 else ''}"
    dress(axis, finding)
    lines = ", ".join(f"line {n}: {m / total:.0%}" for n, m in sorted(moved.items()))
    what = f"The source of {report.kernel.__name__}, with bytes moved: {lines}."
    describe(figure, what, [finding])
    return figure
