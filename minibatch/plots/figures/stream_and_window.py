"""One stream under a window, above the outcomes of all streams under every window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from ...engine.trace import Trace
from ...simulator.streams import Outcome
from ..picture import LABEL, Picture, describe
from .departures import departures
from .window_curve import window_curve


def stream_and_window(
    stream: Mapping[str, Trace],
    runs: Mapping[str, Mapping[float, Sequence[Outcome]]],
    yours: Mapping[str, tuple[float, Outcome]],
    between: tuple[float, float],
) -> Figure:
    """`departures` of one stream, above a `window_curve`.

    stream: its trace, by title; between: the seconds of it that are shown. runs, yours: as for
    `window_curve`."""
    figure = Picture(figsize=(11, 6.8), layout="constrained", facecolor="white")
    above, below = figure.subfigures(2, 1, height_ratios=(3, 4))
    axis = above.subplots()
    departures(stream, between=between, ax=axis)
    seconds = range(int(between[1] - between[0]) + 1)
    axis.set_xticks([between[0] + second for second in seconds], seconds)
    axis.set_xlabel("seconds since the first of them arrived", fontsize=LABEL)
    window_curve(runs, yours=yours, ax=below.subplots())
    findings = [axis.get_title(loc="left") for axis in figure.axes]
    describe(figure, "One stream's batches, and all streams by window.", findings)
    return figure
