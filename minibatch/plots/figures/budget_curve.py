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
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1}


def budget_curve(
    summaries: Mapping[int, Summary],
    *,
    predicted: Mapping[int, Summary] | None = None,
    chosen: int | None = None,
    limit_s: float | None = None,
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
    kinds = (
        ("itl_p99_s", 1e3, "ms", "wait for a next token, p99"),
        ("ttft_mean_s", 1e3, "ms", "mean TTFT of all requests"),
        ("output_tokens_per_s", 1.0, "tokens/s", "throughput"),
    )
    figure, axes = canvas(3, ax, height=2.1)
    if ax is None:
        axes[0].get_gridspec().set_height_ratios((2, 1, 1))
    findings = []
    for axis, (key, scale, unit, what) in zip(axes, kinds, strict=True):
        values = [scale * summaries[budget][key] for budget in budgets]
        axis.plot(budgets, values, color=CURVE, marker="o", linewidth=2.5, label="measured")
        top = max(values)
        if predicted is not None:
            expected = [scale * predicted[budget][key] for budget in sorted(predicted)]
            look = {"color": INK, "linestyle": ":", "linewidth": 2}
            axis.plot(sorted(predicted), expected, label="predicted by the cost model", **look)
            top = max(top, *expected)
        if chosen is not None:
            axis.axvline(chosen, color=INK, linewidth=1, linestyle="--")
            value = scale * summaries[chosen][key]
            look = {"fontsize": TICK, "color": INK, "bbox": PAPER, "zorder": 5}
            words, place, across = f"{_three_digits(value)} {unit}", (chosen, 0), (6, 4)
            if axis is axes[0]:
                words, place, across = f"{words} at {chosen:,}", (chosen, value), (6, -17)
            axis.annotate(words, place, across, textcoords="offset points", **look)
        best = max(values) if axis is axes[-1] else min(values)
        places = dict.fromkeys((0, len(values) - 1, values.index(best)))
        ends = [f"{_three_digits(values[i])} {unit} at {budgets[i]:,}" for i in places]
        if len(ends) == 2:
            ends[values[0] != best] += " (best)"
        findings.append(f"{what[0].upper()}{what[1:]}: {', '.join(ends[:2])}")
        if len(ends) > 2:
            findings[-1] += f"; best {ends[2]}"
        dress(axis, findings[-1], "", unit)
        axis.set_xscale("log", base=2)
        between = [budget for budget in predicted or () if budget.bit_count() == 1]
        ticks = sorted({*(set(budgets) - {chosen}), *between})  # a label has it
        axis.set_xticks(ticks, [f"{budget:,}" for budget in ticks])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_ylim(0, 1.25 * top)
    if limit_s is not None:
        axes[0].axhline(1e3 * limit_s, **LIMIT)
        axes[0].annotate(f"limit: {1e3 * limit_s:,.0f} ms", (budgets[0], 1e3 * limit_s), (0, 4),
                         textcoords="offset points", fontsize=TICK, color=INK)  # fmt: skip
        findings[0] = _largest_budgets(summaries, predicted, limit_s)
        dress(axes[0], findings[0], "", kinds[0][2])
    axes[-1].set_xlabel("max_batch_tokens: most tokens in one step", fontsize=LABEL, color=INK)
    mark(axes[0], guess)
    if predicted is not None and ax is None:
        keys = axes[0].get_legend_handles_labels()
        figure.legend(*keys, loc="outside lower center", ncols=2, frameon=False, fontsize=TICK)
    describe(figure, f"Over budgets of {budgets[0]:,} to {budgets[-1]:,} tokens a step.", findings)
    return figure


def _largest_budgets(
    summaries: Mapping[int, Summary], predicted: Mapping[int, Summary] | None, limit_s: float
) -> str:
    """The largest budget within the limit: of the measured ones, and of the predicted ones."""

    def largest(some: Mapping[int, Summary]) -> str:
        kept = [budget for budget, summary in some.items() if summary["itl_p99_s"] <= limit_s]
        return f"{max(kept):,}" if kept else "none"

    words = f"Largest budget tried with p99 within {1e3 * limit_s:,.0f} ms: "
    words += f"{largest(summaries)} measured"
    return words + (f", {largest(predicted)} predicted" if predicted else "")


def _three_digits(value: float) -> str:
    """Three significant digits, with zeros at the end."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}"
