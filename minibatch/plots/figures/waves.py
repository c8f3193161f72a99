"""Thread blocks on the multiprocessors of a model GPU: which ones work, and which are idle."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..colours import INK, PROTAGONISTS, WORK
from ..multiprocessors import Waves
from ..picture import TICK, TITLE, canvas, describe, dress, percent

MUCH = 0.6  # of the time is used: then the white area has no label


def waves(
    runs: dict[str, Waves], unit: str = "tokens read", *, ax: list[Axes] | None = None
) -> Figure:
    """A panel for each: time to the right, a lane for each multiprocessor; white is idle time.

    The longest thread blocks have another colour, if some are shorter. unit: of the costs.
    """
    figure, axes = canvas(len(runs), ax, height=2.3)
    findings = []
    for axis, (name, run) in zip(axes, runs.items(), strict=True):
        lengths = [end - begin for _, begin, end in run.spans]
        for lane, begin, end in run.spans:
            is_longest = end - begin == max(lengths) > min(lengths)
            colour = PROTAGONISTS[1] if is_longest else WORK
            look = {"facecolor": colour, "edgecolor": colour, "linewidth": 0.5}  # no seams
            axis.add_patch(Rectangle((begin, lane), end - begin, 1, **look))
        ends = [(end, lane) for lane, _, end in run.spans]
        axis.vlines(*zip(*((x, y, y + 1) for x, y in ends), strict=True), color="white", lw=1)
        axis.set_xlim(0, max(run.makespan for run in runs.values()) * 1.02)
        axis.set_ylim(run.num_multiprocessors, 0)
        axis.axvline(run.makespan, color=INK, linewidth=1.5, linestyle=":")
        if run.busy < MUCH:
            idle = {"color": INK, "ha": "center", "va": "center"}
            half = run.makespan / 2, run.num_multiprocessors / 2
            axis.text(*half, f"{percent(1 - run.busy)} idle", fontsize=TITLE, **idle)
        finding = f"{name}: {percent(run.busy)} of the time is used"
        dress(axis, finding, "", "multiprocessor")
        axis.set_yticks([0, run.num_multiprocessors // 2, run.num_multiprocessors])
        findings.append(finding)
    x = f"time, in {unit} by one multiprocessor; orange: the longest thread blocks, if they differ"
    axes[-1].set_xlabel(x, fontsize=TICK, color=INK)
    describe(figure, "Multiprocessors by time.", findings)
    return figure
