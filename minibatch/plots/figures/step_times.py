"""Where the time of a decode step goes, as the batch grows."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ..colours import COLOURS, INK
from ..guesses import mark, said
from ..picture import LABEL, TICK, canvas, describe, dress, with_conditions

CAUSES = {  # of a StepTime: label, colour, hatch
    "weights_s": ("multiplying with weights", COLOURS[1], ""),
    "attention_s": ("reading K and V", COLOURS[0], "///"),
    "other_s": ("overhead", "#DDDDDD", "..."),
}


def step_times(
    times: list[StepTime], *, guess: str | None = None, ax: Axes | list[Axes] | None = None
) -> Figure:
    """Milliseconds of a step, stacked by cause, and the tokens a second that come of it.

    times: from `minibatch.bench.measure.step_times`. guess: the name of a prediction: milliseconds
    of the largest batch's step at the shortest context. ax: where to draw, one Axes a context.
    """
    contexts = sorted({time.context for time in times})
    figure, axes = canvas(len(contexts), ax, height=4.2, beside=True)
    findings = []
    for axis, context in zip(axes, contexts, strict=True):
        some = sorted((t for t in times if t.context == context), key=lambda t: t.batch_size)
        bottom = [0.0] * len(some)
        for key, (label, colour, hatch) in CAUSES.items():
            part = [getattr(time, key) * 1e3 for time in some]
            look = {"color": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6}
            axis.bar(range(len(some)), part, bottom=bottom, label=label, **look)
            bottom = [low + more for low, more in zip(bottom, part, strict=True)]
        for place, (time, height) in enumerate(zip(some, bottom, strict=True)):
            axis.text(
                place, height, f"{time.tokens_per_s:,.0f}", ha="center", va="bottom", fontsize=TICK
            )
        axis.set_xticks(range(len(some)), [str(time.batch_size) for time in some])
        axis.margins(y=0.12)
        findings.append(_finding(some, said(guess, "{:,.4g} ms") if axis is axes[0] else ""))
        dress(axis, findings[-1], "rows in the batch (tokens/s above each bar)", "")
    axes[0].set_ylabel(with_conditions("ms per decode step", times), fontsize=LABEL, color=INK)
    axes[0].legend(loc="upper left", frameon=False, fontsize=TICK)
    mark(axes[0], guess, along="y")
    describe(figure, "Bars: milliseconds of a decode step by batch size and cause.", findings)
    return figure


def _finding(some: list[StepTime], answer: str) -> str:
    first, last = some[0], some[-1]
    rows = last.batch_size / first.batch_size
    slower = last.total_s / first.total_s
    finding = f"{rows:g}× the rows take {slower:.1f}× the time"
    return f"{last.context:,} tokens of context{answer}:\n{finding}"
