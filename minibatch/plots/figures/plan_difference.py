"""Two runs of the same requests, one below the other, and the first step that differs."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import INK
from ..picture import LABEL, TITLE, describe
from ..spans import first_difference, first_other_time
from .timeline import timeline


def plan_difference(
    expected: Trace,
    yours: Trace,
    *,
    names: tuple[str, str] = ("expected", "yours"),
    ax: list[Axes] | None = None,
) -> Figure:
    """Two timelines. Marked: the first step whose rows differ (in any order), or, in virtual time,
    the first that begins at another time.

    Two equal runs of one policy are named as such: until a learner's policy is written, the
    course's policy is used in its place, and is compared with itself.
    """
    number, finding = _finding(expected, yours)
    if number is None and expected.policy == yours.policy:
        names = names[0], f"{names[1]}: {yours.policy} is used"
    figure = timeline(dict(zip(names, (expected, yours), strict=True)), ax=ax)
    axes = figure.axes[:2] if ax is None else ax
    if number is not None:
        for axis in axes:
            axis.axvline(number, color=INK, linestyle="--", linewidth=2)
            axis.annotate(
                f" step {number + 1}",
                (number, axis.get_ylim()[0]),
                fontsize=LABEL,
                color=INK,
                va="bottom",
                bbox={"facecolor": "white", "edgecolor": INK, "pad": 1},
            )
    if ax is None:
        figure.suptitle(finding, x=0.01, ha="left", fontsize=TITLE, fontweight="bold", color=INK)
    describe(figure, f"{finding}.", [axis.get_title(loc="left") for axis in axes])
    return figure


def _finding(expected: Trace, yours: Trace) -> tuple[int | None, str]:
    """The index of the first step that differs, if any, and the finding in words."""
    rows = first_difference(expected.steps, yours.steps)
    time = first_other_time(expected.steps, yours.steps)
    if time is not None:
        times = [f"{trace.steps[time].start_time:.4g} s" for trace in (yours, expected)]
        return (
            time,
            f"The waits differ: step {time + 1} begins at {times[0]}, not {times[1]}",
        )
    if rows is not None:
        return rows, f"The plans differ from step {rows + 1} on"
    if expected.policy == yours.policy:
        return None, f"{yours.policy} is used in place of yours: nothing to compare yet"
    return None, "The same plan, step for step"
