"""Where the time of a decode step goes, as the batch grows."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ..colours import COLOURS, INK
from ..picture import LABEL, TICK, canvas, describe, dress, with_conditions

CAUSES = (
    ("weights_s", "multiplying with weights", COLOURS[4], ""),
    ("attention_s", "reading K and V", COLOURS[0], "///"),
    ("other_s", "everything else", "#DDDDDD", "..."),
)


def step_times(times: list[StepTime], *, ax: Axes | list[Axes] | None = None) -> Figure:
    """Milliseconds of a step, stacked by cause, and the tokens a second that come of it.

    times: from `minibatch.bench.measure.step_times`. ax: where to draw, one Axes for each context.
    """
    contexts = sorted({time.context for time in times})
    figure, axes = canvas(len(contexts), ax, height=4.2, beside=True)
    findings = []
    for axis, context in zip(axes, contexts, strict=True):
        some = sorted((t for t in times if t.context == context), key=lambda t: t.batch_size)
        bottom = [0.0] * len(some)
        for key, label, colour, hatch in CAUSES:
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
        findings.append(_finding(some))
        dress(axis, findings[-1], "batch size (tokens/s above each bar)", "")
    axes[0].set_ylabel(with_conditions("ms per decode step", times), fontsize=LABEL, color=INK)
    axes[0].legend(loc="upper left", frameon=False, fontsize=TICK)
    describe(figure, "Bars: milliseconds of a decode step by batch size and cause.", findings)
    return figure


def _finding(some: list[StepTime]) -> str:
    first, last = some[0], some[-1]
    rows = last.batch_size / first.batch_size
    slower = last.total_s / first.total_s
    return f"{last.context:,} tokens of context:\n{rows:g}× the rows take {slower:.1f}× the time"
