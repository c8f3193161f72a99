"""What a longer window buys, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.metrics import Summary
from ..colours import COLOURS
from ..picture import TICK, canvas, describe, dress


def window_tradeoff(
    summaries: Mapping[str, Mapping[float, Summary]], *, ax: list[Axes] | None = None
) -> Figure:
    """Mean time to first token, and how full batches are, by the window a batch waits.

    summaries: for each kind of traffic by name, a run's summary for each `max_wait` in seconds.
    ax: two Axes.
    """
    figure, axes = canvas(2, ax, height=2.7)
    looks = zip((COLOURS[4], COLOURS[5], COLOURS[2]), ("o-", "s--", "^:"), strict=True)
    findings = []
    for (name, runs), (colour, marker) in zip(summaries.items(), looks, strict=False):
        windows = sorted(runs)
        line = {"color": colour, "linewidth": 2, "markersize": 7, "label": name}
        axes[0].plot(windows, [runs[w]["ttft_mean_s"] for w in windows], marker, **line)
        axes[1].plot(windows, [100 * runs[w]["batch_fill"] for w in windows], marker, **line)
        none, longest = (runs[w]["ttft_mean_s"] for w in (windows[0], windows[-1]))
        findings.append(
            f"{name}: first tokens after {none:.2f} s with a window of {windows[0]:g} s, "
            f"after {longest:.2f} s with {windows[-1]:g} s"
        )
    for axis in axes:
        axis.set_ylim(0, None)
    axes[1].set_ylim(0, 100)
    title = "\n".join(findings)
    dress(axes[0], title, "", "s to first token, mean")
    dress(axes[1], "", "max_wait, the window (s)", "slots with a row, %")
    axes[0].legend(loc="best", frameon=False, fontsize=TICK)
    describe(figure, "Two panels by window: mean time to first token; slots with a row.", findings)
    return figure
