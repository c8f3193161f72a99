"""The effect of a token budget on the time to the next token, to the first, and on throughput."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ...engine.metrics import Summary
from ..colours import INK, PROTAGONISTS, WASTE
from ..guesses import mark
from ..picture import canvas, describe, dress


def budget_curve(
    summaries: Mapping[int, Summary],
    *,
    predicted: Mapping[int, Summary] | None = None,
    chosen: int | None = None,
    limit_s: float | None = None,
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Three curves over the budgets, on an axis of powers of two.

    summaries: of a run, by its budget in tokens a step. predicted: the same from a virtual clock,
    drawn dotted; also for budgets between. chosen: a measured budget to mark. limit_s: a limit on
    the time to the next token, drawn as a line into the first panel. guess: the name of a
    prediction of a budget. ax: three Axes.
    """
    budgets = sorted(summaries)
    kinds = (
        ("itl_p99_s", 1e3, "p99 ITL, ms", "wait for a next token"),
        ("ttft_mean_s", 1.0, "mean TTFT, s", "first token, mean of all"),
        ("output_tokens_per_s", 1.0, "tokens/s", "tokens a second"),
    )
    figure, axes = canvas(3, ax, height=1.75)
    findings = []
    for axis, (key, scale, unit, what), colour in zip(
        axes, kinds, (PROTAGONISTS[1], PROTAGONISTS[2], PROTAGONISTS[0]), strict=True
    ):
        values = [scale * summaries[budget][key] for budget in budgets]
        axis.plot(budgets, values, color=colour, marker="o", linewidth=2.5)
        top = max(values)
        if predicted is not None:
            expected = [scale * predicted[budget][key] for budget in sorted(predicted)]
            look = {"color": INK, "linestyle": ":", "linewidth": 2}
            axis.plot(sorted(predicted), expected, label="by the cost model", **look)
            top = max(top, *expected)
            if axis is axes[1]:
                axis.legend(frameon=False, fontsize=12, loc="upper right")
        if chosen is not None:
            axis.axvline(chosen, color=INK, linewidth=1, linestyle="--")
            value = scale * summaries[chosen][key]
            axis.annotate(_three_digits(value), (chosen, value), (6, 6), textcoords="offset points",
                          fontsize=12, color=INK)  # fmt: skip
        ends = (
            f"from {_three_digits(values[0])} to {_three_digits(values[-1])} {unit.split(', ')[-1]}"
        )
        if axis is axes[-1]:  # throughput may have its top anywhere
            lowest, best = (_three_digits(some) for some in (min(values), max(values)))
            ends = f"{lowest} to {best}, most at a budget of {budgets[values.index(max(values))]:,}"
        findings.append(f"{what[0].upper()}{what[1:]}: {ends}")
        dress(axis, findings[-1], "", unit)
        axis.set_xscale("log", base=2)
        between = [budget for budget in predicted or () if budget.bit_count() == 1]
        ticks = sorted({*budgets, *between})
        axis.set_xticks(ticks, [f"{budget:,}" for budget in ticks])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_ylim(0, 1.25 * top)
    if limit_s is not None:
        axes[0].axhline(1e3 * limit_s, color=WASTE, linewidth=2.5)
        axes[0].annotate(f"limit: {1e3 * limit_s:,.0f} ms", (budgets[0], 1e3 * limit_s), (0, 4),
                         textcoords="offset points", fontsize=12, color=INK)  # fmt: skip
        findings[0] = _largest_budgets(summaries, predicted, limit_s)
        dress(axes[0], findings[0], "", kinds[0][2])
    axes[-1].set_xlabel("max_batch_tokens: most tokens in one step", fontsize=13, color=INK)
    mark(axes[0], guess)
    describe(figure, f"Over budgets of {budgets[0]:,} to {budgets[-1]:,} tokens a step.", findings)
    return figure


def _largest_budgets(
    summaries: Mapping[int, Summary], predicted: Mapping[int, Summary] | None, limit_s: float
) -> str:
    """The largest budget within the limit: of the measured ones, and of the predicted ones."""

    def largest(some: Mapping[int, Summary]) -> str:
        kept = [budget for budget, summary in some.items() if summary["itl_p99_s"] <= limit_s]
        return f"up to {max(kept):,} tokens a step" if kept else "at no budget"

    words = f"p99 within {1e3 * limit_s:,.0f} ms, measured: {largest(summaries)}"
    return words + (f"; by the cost model: {largest(predicted)}" if predicted else "")


def _three_digits(value: float) -> str:
    """Three significant digits, with zeros at the end."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"
