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
APART = 1.3  # between two lanes; a lane's words stand above and below it


def hang_up(
    runs: Mapping[str, tuple[Sequence[StepRecord], float, Completion]],
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """A lane of steps for each run, from a moment before a client hangs up, at 0, to the run's end.
    Below a lane: when the last step with a prompt had ended.

    runs: by name, the steps, when the client hung up in seconds on the engine's clock, and the
    completion of its request. guess: the name of a prediction in seconds, for the first run.
    """
    figure, (axis,) = canvas(1, ax, height=1.1 + 1.2 * len(runs))
    waits, prompts, ends = {}, {}, []
    for lane, (name, (steps, hung_up, completion)) in enumerate(runs.items()):
        y = APART * lane
        waits[name] = wait = completion.finish_time - hung_up
        drawn = [step for step in steps if step.end_time > hung_up - BEFORE]
        ends += [step.end_time - hung_up for step in drawn]
        for step in drawn:
            end, left = step.end_time - hung_up, max(step.start_time - hung_up, -BEFORE)
            look = {"height": 0.42, "color": WORK, "edgecolor": INK, "linewidth": 0.7}
            if any(row.kind == "prefill" for row in step.rows):
                look["hatch"] = "////"
                if end > 0:
                    prompts[name] = end
            axis.barh(y, end - left, left=left, **look)
        axis.plot([0, wait], [y - 0.36] * 2, "|-", color=WASTE, linewidth=2.5, markersize=12)
        _label(axis, wait, y - 0.36, f"blocks freed after {_s(wait)}")
        if name in prompts:
            _label(axis, 0, y + 0.34, f"all prompts computed after {_s(prompts[name])}")
    axis.axvline(0, color=INK, linewidth=1.5, linestyle=":")
    _label(axis, 0, -0.76, "the client hangs up")
    finding = "The blocks are freed when the running step has ended"
    findings = [finding, f"Blocks freed after {_each(waits)}"]
    dress(axis, findings[0], "seconds after the hang-up; a box is a step, hatched: with a prompt")
    axis.set_yticks([APART * lane for lane in range(len(runs))], list(runs))
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.set_ylim(APART * (len(runs) - 1) + 0.55, -1.2)
    axis.set_xlim(-BEFORE, max(1.6 * max(waits.values()), 1.02 * max(ends), AFTER))
    mark(axis, guess)
    if prompts:
        findings.append(f"The prompts are computed after {_each(prompts)}")
    describe(figure, "A lane of steps for each run.", findings)
    return figure


def _label(axis: Axes, x: float, y: float, words: str) -> None:
    axis.annotate(words, (x, y), (8, 0), textcoords="offset points", va="center", fontsize=LABEL,
                  color=INK)  # fmt: skip


def _each(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{_s(value)} ({name})" for name, value in seconds.items())


def _s(seconds: float) -> str:
    """In seconds however few: a busy machine changes the number only."""
    if seconds < 0.1:
        return f"{seconds:.3f} s"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"
