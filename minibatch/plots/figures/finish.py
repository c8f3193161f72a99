"""Who has been served after how many seconds: a race of policies, up to the last answer of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import INK, PROTAGONISTS
from ..picture import LABEL, canvas, describe, dress

STROKES = (("#555555", ":"), ("#0072B2", "--"), (PROTAGONISTS[0], "-"))


def finish(ends: Mapping[str, Sequence[float]], *, ax: Axes | None = None) -> Figure:
    """A curve for each policy: answers that have ended, over seconds; a flag at the last one.

    ends: for each of two or three policies, the seconds at which its answers ended, on its own
    clock.
    """
    figure, (axis,) = canvas(1, ax, height=3.4)
    longest = max(map(max, ends.values()))
    for (name, times), (colour, stroke) in zip(ends.items(), STROKES, strict=False):
        times, most = sorted(times), len(times)
        look = {"color": colour, "linestyle": stroke, "linewidth": 2.5}
        axis.plot([0, *times], range(most + 1), drawstyle="steps-post", **look)
        axis.plot(times[-1], most, "o", color=colour, markersize=9)
        box = {"facecolor": "white", "edgecolor": colour, "boxstyle": "round,pad=0.3"}
        far = times[-1] > 0.7 * longest
        axis.annotate(f"{name}: {times[-1]:.1f} s", (times[-1], most), (0, 12), bbox=box,
                      ha="right" if far else "center", textcoords="offset points",
                      fontsize=LABEL, color=INK)  # fmt: skip
    most = max(map(len, ends.values()))
    axis.set_ylim(0, 1.22 * most)
    axis.set_xlim(0, 1.04 * longest)
    quickest = min(ends, key=lambda name: max(ends[name]))
    done = {name: sum(t <= max(ends[quickest]) for t in times) for name, times in ends.items()}
    others = ", ".join(f"{done[name]} of {name}" for name in ends if name != quickest)
    finding = f"When {quickest} has served all {most}: {others}"
    dress(axis, finding, "seconds of computing", "answers that have ended")
    describe(figure, "Curves: answers that have ended, over seconds.", [finding])
    return figure
