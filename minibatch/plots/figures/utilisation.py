"""How many of the slots yield a token, step by step."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import INK, WORK
from ..guesses import mark
from ..picture import canvas, describe, dress
from .timeline import by_name


def utilisation(
    traces: Trace | Mapping[str, Trace],
    *,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """The share of slots whose row yields a token, at every step; and the mean of all steps.

    traces: a trace, or several by name. guess: the name of a prediction of the first one's mean, in
    percent. ax: where to draw, one Axes a trace.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=1.35)
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        shares = [100 * s.num_output_tokens / trace.max_batch_size for s in trace.steps]
        mean = sum(shares) / len(shares)
        axis.stairs(shares, fill=True, color=WORK)
        axis.stairs(shares, color=INK, linewidth=0.8)
        axis.axhline(mean, color=INK, linewidth=1.5, linestyle="--")
        axis.set_ylim(0, 108)
        findings.append(f"{name}: " * bool(name) + f"{mean:.0f}% of the slots on average")
        last = axis is axes[-1]
        dress(axis, findings[-1], "step (one forward pass)" if last else "", "% of slots")
    axes[0].set_xlim(0, max(len(trace.steps) for trace in named.values()))
    mark(axes[0], guess, along="y")
    describe(figure, "Slots at work by steps.", findings)
    return figure
