"""A speed-up over the latency target at which it is read."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..colours import COLOURS, INK
from ..guesses import mark, said
from ..picture import TICK, canvas, describe, dress


def ratio_by_target(
    ratios: Mapping[str, Mapping[float, float]],
    *,
    published: tuple[float, float] | None = None,
    x: str = "limit on the median time per token, ms",
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A line for each baseline: how many times its throughput the new system has, over the limit.

    ratios: by baseline and limit. published: the limit and the ratio of a paper, drawn as a
    diamond. guess: the name of a prediction of a ratio.
    """
    figure, (axis,) = canvas(1, ax, height=3.3)
    findings = []
    for (name, line), colour, marker in zip(ratios.items(), (COLOURS[4], COLOURS[2], COLOURS[6]),
                                            "osv", strict=False):  # fmt: skip
        limits = sorted(line)
        axis.plot(limits, [line[limit] for limit in limits], color=colour, linewidth=2.5,
                  marker=marker, markersize=6)  # fmt: skip
        axis.annotate(f"against {name}", (limits[-1], line[limits[-1]]), (9, 0), va="center",
                      fontsize=TICK, color=INK, textcoords="offset points")  # fmt: skip
        ratios = [line[limit] for limit in limits]
        findings.append(f"{min(ratios):.0f} to {max(ratios):.0f} × against {name}")
    if published is not None:
        axis.plot(*published, "D", color="white", markeredgecolor=INK, markersize=12)
        axis.annotate(f"published: {published[1]:g} ×", published, (12, 0), va="center",
                      fontsize=TICK, color=INK, textcoords="offset points")  # fmt: skip
    title = f"The speed-up depends on the latency limit{said(guess)}"
    dress(axis, title, x, "times the throughput")
    axis.set_ylim(0, None)
    low, high = axis.get_xlim()
    axis.set_xlim(low, high + 0.16 * (high - low))  # room for the names
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    mark(axis, guess, "y")
    describe(figure, "Lines of the ratio over the limit.", [title, *findings])
    return figure
