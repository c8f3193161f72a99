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

BEFORE = 0.1  # seconds of each run before the client hangs up
AFTER = 0.45  # at least so many after that moment


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
    figure, (axis,) = canvas(1, ax, height=0.8 + 0.75 * len(runs))
    waits = {}
    for y, (name, (steps, hung_up, completion)) in enumerate(runs.items()):
        waits[name] = wait = completion.finish_time - hung_up
        for step in (step for step in steps if step.end_time > hung_up - BEFORE):
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
            f"blocks freed after {_s(wait)}",
            (wait, y - 0.38),
            (8, 0),
            textcoords="offset points",
            va="center",
            fontsize=LABEL,
            color=INK,
        )
    axis.axvline(0, color=INK, linewidth=1.5, linestyle=":")
    axis.annotate("the client hangs up", (0, -0.85), (8, 0), textcoords="offset points",
                  ha="left", va="center", fontsize=LABEL, color=INK)  # fmt: skip
    words = ", ".join(f"{_s(wait)} with {name}" for name, wait in waits.items())
    finding = f"The blocks are free after {words}"
    below = (
        "seconds after the client hung up; a box is a step, with hatches if it computes a prompt"
    )
    dress(axis, finding, below)
    axis.set_yticks(range(len(runs)), list(runs))
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.set_ylim(len(runs) - 0.5, -1.1)
    axis.set_xlim(-BEFORE, max(1.5 * max(waits.values()), AFTER))
    mark(axis, guess)
    describe(figure, "A lane of steps for each run.", [finding])
    return figure


def _s(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"
