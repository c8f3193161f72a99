"""What a token budget does to the wait for a next token, to the first one, and to throughput."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ...engine.metrics import Summary
from ..colours import INK, PROTAGONISTS
from ..guesses import mark
from ..picture import canvas, describe, dress


def budget_curve(
    summaries: Mapping[int, Summary],
    *,
    predicted: Mapping[int, Summary] | None = None,
    chosen: int | None = None,
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Three curves over the budgets, on an axis of powers of two.

    summaries: of a run under each budget, tokens a step. predicted: the same of a made-up clock,
    drawn dotted. chosen: a budget to mark. guess: the name of a prediction of a budget. ax: three
    Axes.
    """
    budgets = sorted(summaries)
    kinds = (
        ("itl_p99_s", 1e3, "p99 ITL, ms", "wait for a next token"),
        ("ttft_mean_s", 1.0, "mean TTFT, s", "first token"),
        ("output_tokens_per_s", 1.0, "tokens/s", "tokens a second"),
    )
    figure, axes = canvas(3, ax, height=1.55)
    findings = []
    for axis, (key, scale, unit, what), colour in zip(
        axes, kinds, (PROTAGONISTS[1], PROTAGONISTS[2], PROTAGONISTS[0]), strict=True
    ):
        values = [scale * summaries[budget][key] for budget in budgets]
        axis.plot(budgets, values, color=colour, marker="o", linewidth=2.5)
        top = max(values)
        if predicted is not None:
            expected = [scale * predicted[budget][key] for budget in budgets]
            look = {"color": INK, "linestyle": ":", "linewidth": 2}
            axis.plot(budgets, expected, label="by the cost model", **look)
            top = max(top, *expected)
            if axis is axes[0]:
                axis.legend(frameon=False, fontsize=12, loc="upper left")
        if chosen is not None:
            axis.axvline(chosen, color=INK, linewidth=1, linestyle="--")
            value = scale * summaries[chosen][key]
            axis.annotate(f"{value:,.3g}", (chosen, value), (6, 6), textcoords="offset points",
                          fontsize=12, color=INK)  # fmt: skip
        ends = f"from {values[0]:,.3g} to {values[-1]:,.3g}"
        findings.append(f"{what[0].upper()}{what[1:]}: {ends} {unit.split(', ')[-1]}")
        dress(axis, findings[-1], "", unit)
        axis.set_xscale("log", base=2)
        axis.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_ylim(0, 1.25 * top)
    axes[-1].set_xlabel("max_batch_tokens: most tokens in one step", fontsize=13, color=INK)
    mark(axes[0], guess)
    describe(figure, f"Over budgets of {budgets[0]:,} to {budgets[-1]:,} tokens a step.", findings)
    return figure
