"""When requests arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.request import Request
from ..colours import INK, WORK
from ..picture import canvas, describe, dress

BIN = 0.5  # seconds; arrivals of one bin are stacked


def arrivals(
    streams: Mapping[str, Iterable[Request]], *, ax: Axes | list[Axes] | None = None
) -> Figure:
    """A dot for each request on an axis of seconds; dots of the same half second are stacked.

    A panel for each stream by name. ax: where to draw, one Axes a stream.
    """
    times = {name: [r.arrival_time for r in stream] for name, stream in streams.items()}
    figure, axes = canvas(len(times), ax, height=1.4)
    findings, highest = [], 0
    for axis, (name, seconds) in zip(axes, times.items(), strict=True):
        heights: Counter[int] = Counter()
        for time in seconds:
            column = int(time / BIN)
            heights[column] += 1
            dot = {"color": WORK, "markeredgecolor": INK, "markersize": 9}
            axis.plot((column + 0.5) * BIN, heights[column] - 0.5, "o", **dot)
        most = max(heights.values())
        highest = max(highest, most)
        findings.append(f"{name}: {len(seconds)} agents, at most {most} within half a second")
        dress(axis, findings[-1], "seconds" if axis is axes[-1] else "")
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
    for axis in axes:
        axis.set_ylim(-0.3, highest + 0.3)
    axes[0].set_xlim(-BIN, max(map(max, times.values())) + 2 * BIN)
    describe(figure, "A dot for each arrival, over time in seconds.", findings)
    return figure
