"""The effect of a token budget on the time to the next token, to the first, and on throughput."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ...engine.metrics import Summary
from ..colours import INK, LIMIT
from ..guesses import mark
from ..picture import LABEL, TICK, canvas, describe, dress

CURVE = "#0072B2"
PANELS = (
    ("itl_p99_s", 1e3, "ms"),
    ("ttft_mean_s", 1e3, "ms"),
    ("output_tokens_per_s", 1.0, "tokens/s"),
)


def budget_curve(
    summaries: Mapping[int, Summary],
    predicted: Mapping[int, Summary],
    *,
    chosen: int,
    limit_s: float,
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Three curves over the budgets, on an axis of powers of two; the first panel is the highest.

    summaries: of a run, by its budget in tokens a step. predicted: the same from a virtual clock,
    drawn dotted; also for budgets between. chosen: a measured budget to mark. limit_s: a limit on
    the time to the next token, drawn as a line into the first panel. guess: the name of a
    prediction of a budget. ax: three Axes.
    """
    budgets = sorted(summaries)
    figure, axes = canvas(3, ax, height=2.0)
    if ax is None:
        axes[0].get_gridspec().set_height_ratios((2, 1, 1))
    within = [budget for budget in budgets if summaries[budget]["itl_p99_s"] <= limit_s]
    findings = [
        f"The largest measured budget with a p99 within {1e3 * limit_s:.0f} ms is {max(within):,}"
        if within
        else f"No budget keeps the p99 of the waits within {1e3 * limit_s:.0f} ms",
        "Time to first token, the mean of all requests",
        "Throughput",
    ]
    for axis, (key, scale, unit), finding in zip(axes, PANELS, findings, strict=True):
        values = [scale * summaries[budget][key] for budget in budgets]
        axis.plot(budgets, values, color=CURVE, marker="o", linewidth=2.5, label="measured")
        expected = [scale * predicted[budget][key] for budget in sorted(predicted)]
        axis.plot(sorted(predicted), expected, label="predicted by the cost model", color=INK,
                  linestyle=":", linewidth=2)  # fmt: skip
        axis.axvline(chosen, color=INK, linewidth=1, linestyle="--")
        dress(axis, finding, "", unit)
        axis.set_xscale("log", base=2)
        ticks = [budget for budget in budgets if budget.bit_count() == 1]
        axis.set_xticks(ticks, [f"{budget:,}" for budget in ticks])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_ylim(0, 1.15 * max(*values, *expected))
    look = {"textcoords": "offset points", "fontsize": TICK, "color": INK}
    axes[0].axhline(1e3 * limit_s, **LIMIT)
    axes[0].annotate("the limit", (budgets[0], 1e3 * limit_s), (0, 5), **look)
    axes[0].annotate(f"measured again at {chosen:,}", (chosen, 0.6), (-6, 0), ha="right",
                     xycoords=axes[0].get_xaxis_transform(), **look)  # fmt: skip
    axes[-1].set_xlabel("max_batch_tokens: most tokens in one step", fontsize=LABEL, color=INK)
    mark(axes[0], guess)
    keys = axes[0].get_legend_handles_labels()
    figure.legend(*keys, loc="outside lower center", ncols=2, frameon=False, fontsize=TICK)
    describe(figure, f"Over budgets of {budgets[0]:,} to {budgets[-1]:,} tokens a step.", findings)
    return figure
