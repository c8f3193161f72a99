"""How many rows of a batch still yield a token, step by step, and how many are padding."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import BURNT, INK, WORK
from ..guesses import mark
from ..picture import TICK, canvas, describe, dress, percent
from .timeline import by_name


def staircase(
    traces: Trace | Mapping[str, Trace],
    *,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Rows of each step: those that yield a token, and above them the rows of padding.

    traces: a trace, or several by name. guess: the name of a prediction for the last panel: a curve
    of the rows that yield a token, or a number of steps. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax)
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        edges = list(range(len(trace.steps) + 1))
        useful = [step.num_output_tokens for step in trace.steps]
        rows = [len(step.rows) for step in trace.steps]
        axis.stairs(useful, edges, fill=True, color=WORK, label="rows that yield a token")
        padding = BURNT | {"linewidth": 0}
        axis.stairs(rows, edges, baseline=useful, fill=True, **padding, label="padding rows")
        axis.stairs(rows, edges, color=INK, linewidth=0.8)
        axis.set_ylim(0, trace.max_batch_size * 1.08)
        findings.append(_finding(name, useful, rows))
        last = axis is axes[-1]
        dress(axis, findings[-1], "step (one forward pass)" if last else "", "rows")
    axes[0].set_xlim(0, max(len(trace.steps) for trace in named.values()))
    mark(axes[-1], guess)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=TICK
    )
    describe(figure, "Rows by steps.", findings)
    return figure


def _finding(name: str, useful: list[int], rows: list[int]) -> str:
    share = sum(useful) / sum(rows)
    what = (
        "every row yields a token" if share == 1 else f"{percent(share, 1)} of rows yield a token"
    )
    return f"{name}: {what}" if name else what[0].upper() + what[1:]
