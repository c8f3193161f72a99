"""A client hangs up while a step runs: when its request ends, and its blocks are free."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.completion import Completion
from ...core.records import StepRecord
from ..colours import INK, WASTE, WORK
from ..guesses import mark
from ..picture import LABEL, canvas, describe, dress

BEFORE = 0.3  # seconds of each run before the client hangs up


def hang_up(
    runs: Mapping[str, tuple[Sequence[StepRecord], float, Completion]],
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A lane of steps for each run, around the moment at which a client hangs up, at 0.

    runs: by name, the steps, when the client hung up in seconds on the engine's clock, and the
    completion of its request. guess: the name of a prediction in seconds, for the first run.
    """
    figure, (axis,) = canvas(1, ax, height=0.6 + 0.75 * len(runs))
    waits = {}
    for y, (name, (steps, hung_up, completion)) in enumerate(runs.items()):
        waits[name] = wait = completion.finish_time - hung_up
        shown = [
            step
            for step in steps
            if step.end_time > hung_up - BEFORE
            and step.start_time < completion.finish_time + BEFORE
        ]
        for step in shown:
            left = max(step.start_time - hung_up, -BEFORE)
            num_prompt = sum(row.num_tokens for row in step.rows if row.kind == "prefill")
            width = step.end_time - hung_up - left
            axis.barh(
                y,
                width,
                left=left,
                height=0.5,
                color=WORK,
                edgecolor=INK,
                linewidth=0.7,
                hatch="////" if num_prompt else "",
            )
        axis.plot([0, wait], [y - 0.38] * 2, "|-", color=WASTE, linewidth=2.5, markersize=12)
        axis.annotate(
            f"blocks free after {1e3 * wait:,.0f} ms",
            (wait, y - 0.38),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize=LABEL,
            color=INK,
        )
    axis.axvline(0, color=INK, linewidth=1.5, linestyle=":")
    words = ", ".join(f"{1e3 * wait:,.0f} ms with {name}" for name, wait in waits.items())
    finding = f"From the hang-up to free blocks: {words}"
    dress(axis, finding, "seconds after the client hung up; a box is a step, hatched with a prompt")
    axis.set_yticks(range(len(runs)), list(runs))
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.set_ylim(len(runs) - 0.5, -0.7)
    axis.set_xlim(-BEFORE, 1.35 * max(*waits.values(), BEFORE))
    mark(axis, guess)
    describe(figure, "A lane of steps for each run.", [finding])
    return figure
