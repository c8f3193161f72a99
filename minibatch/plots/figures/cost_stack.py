"""What a decode step must cost, by cause, beside what it took; and what a token comes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ...simulator.cost import Roof, decode_step
from ..colours import COLOURS, INK, PROTAGONISTS
from ..picture import TICK, Picture, describe, dress, with_conditions
from .step_times import CAUSES

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model

ARITHMETIC = ("arithmetic beyond the reading", COLOURS[2], "\\\\")
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
TOOK = PROTAGONISTS[2]
Stack = list[tuple[tuple[str, str, str], float]]  # label, colour and hatch of a part; its seconds


def cost_stack(
    model: Model, roof: Roof, times: list[StepTime], batch_size: int, context: int
) -> Figure:
    """Left: one step in milliseconds, as an account and as measured. Right: both for each token.

    The account: weights, K and V at the roof's bandwidth; arithmetic at its FLOP/s, as far as that
    takes longer than reading; and the overhead of one row. times: from `measure.step_times`, steps
    of 1 to `batch_size` rows or more, of that context.
    """
    some = sorted((t for t in times if t.context == context), key=lambda t: t.batch_size)
    sizes = [time.batch_size for time in some]
    chosen = some[sizes.index(batch_size)]
    accounts = [_account(model, roof, time, some[0]) for time in some]
    least = [sum(seconds for _, seconds in account) for account in accounts]

    figure = Picture(figsize=(11, 4.8), layout="constrained", facecolor="white")
    step, token = figure.subplots(1, 2, width_ratios=(4, 5))
    top = 1e3 * max(*least, *(time.total_s for time in some))
    measured = [(CAUSES[key], getattr(chosen, key)) for key in CAUSES]
    times_it = chosen.total_s / least[sizes.index(batch_size)]
    _stack(step, 0, accounts[sizes.index(batch_size)], top)
    _stack(step, 1, measured, top, f"{{:.1f}} ms, {times_it:.1f} × the account")
    step.set_xticks([0, 1], ["account", "measured"])
    step.set_xlim(-0.55, 1.55)
    step.set_ylim(0, 1.1 * top)
    figure.legend(*_legend(step), loc="outside lower center", ncols=4, frameon=False, fontsize=TICK)

    _curve(token, sizes, least, "account", INK, "o--")
    _curve(token, sizes, [time.total_s for time in some], "measured", TOOK, "s-")
    token.axvline(batch_size, color=TOOK, linewidth=16, alpha=0.25, zorder=0)
    token.set_xscale("log", base=2)
    token.set_xticks(sizes, [str(n) for n in sizes])
    token.set_ylim(0, None)
    _ridge(token, roof.rows_at_the_ridge(model.dtype.itemsize), sizes[-1])
    token.legend(loc="upper right", frameon=False, fontsize=TICK)

    rows = "1 row" if batch_size == 1 else f"{batch_size} rows"
    share = chosen.total_s / batch_size / some[0].total_s
    findings = [
        f"{rows} with {context:,} tokens: {chosen.total_s * 1e3:.1f} ms a step",
        f"{chosen.total_s * 1e3 / batch_size:.2f} ms a token: {share:.0%} of one alone",
    ]
    dress(step, findings[0], "", with_conditions("ms per step", some))
    dress(token, findings[1], "rows in the batch", "ms per token")
    describe(figure, "A step by cause, and what a token of it costs.", findings)
    return figure


def _account(model: Model, roof: Roof, time: StepTime, alone: StepTime) -> Stack:
    account = roof.account(decode_step(model, time.batch_size, time.context))
    return [
        (("weights", *CAUSES["weights_s"][1:]), account.weights_s),
        (ARITHMETIC, account.arithmetic_s),
        (("K and V", *CAUSES["attention_s"][1:]), account.kv_s),
        (CAUSES["other_s"], alone.other_s),
    ]


def _stack(axis: Axes, x: int, parts: Stack, top: float, words: str = "{:.1f} ms") -> None:
    bottom = 0.0
    for (label, colour, hatch), seconds in parts:
        look = {"facecolor": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6}
        axis.bar(x, seconds * 1e3, bottom=bottom, width=0.7, label=label, **look)
        if seconds * 1e3 > 0.06 * top:
            words_in = {"ha": "center", "va": "center", "fontsize": TICK, "bbox": PAPER}
            axis.text(x, bottom + seconds * 500, f"{seconds * 1e3:.1f}", **words_in)
        bottom += seconds * 1e3
    axis.text(x, bottom, words.format(bottom), ha="center", va="bottom", fontsize=TICK, color=INK)


def _legend(axis: Axes) -> tuple[list, list[str]]:
    """Of the account's parts, which the other bar has too."""
    handles, labels = axis.get_legend_handles_labels()
    return handles[:4], labels[:4]


def _curve(
    axis: Axes, sizes: list[int], seconds: list[float], name: str, colour: str, style: str
) -> None:
    each = [second * 1e3 / size for second, size in zip(seconds, sizes, strict=True)]
    axis.plot(sizes, each, style, color=colour, label=name, linewidth=2, markersize=7)


def _ridge(axis: Axes, rows: float, last: int) -> None:
    if rows < last:
        axis.axvline(rows, color=ARITHMETIC[1], linewidth=2.5, linestyle=":")
        words = f"from {rows:.0f} rows on,\narithmetic takes longer\nthan reading the weights"
        axis.text(1.06 * rows, 0.72, words, transform=axis.get_xaxis_transform(), fontsize=TICK,
                  color=INK, va="top")  # fmt: skip
