"""The calculated cost of a decode step by cause, as the batch grows; and the measured time."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...bench.measure import StepTime
from ...simulator.cost import Roof, decode_step
from ..colours import COLOURS, INK
from ..guesses import guess as guess_of
from ..guesses import mark, said
from ..picture import TICK, Picture, describe, dress

if TYPE_CHECKING:  # importing transformers takes seconds
    from ...model.load import Model

# Parts of a bar: label, colour, hatch.
WEIGHTS = ("weights", COLOURS[1], "")
KV = ("K and V", "#B9A9D3", "///")
OVERHEAD = ("overhead", "#DDDDDD", "...")
ARITHMETIC = ("arithmetic beyond the reading", COLOURS[3], "\\\\")
RIDGE = INK
TOOK = {"color": INK, "marker": "s", "markersize": 7, "linewidth": 1.5}
MEASURED = "measured"
FAR = 3  # heights of the panel
TOP_DOWN = (OVERHEAD, KV, ARITHMETIC, WEIGHTS)
Stack = list[tuple[tuple[str, str, str], float]]  # label, colour and hatch of a part; its seconds


def cost_stack(
    model: Model,
    roof: Roof,
    times: list[StepTime],
    batch_size: int,
    *,
    context: int | None = None,
    guess: str | None = None,
) -> Figure:
    """A bar for each batch of up to `batch_size` rows: the account of its step. Squares: the
    measured time, with its ratio to the account.

    The account has three parts: weights, K and V at the roof's bandwidth; arithmetic at its FLOP/s,
    where that takes longer than reading; and the overhead of one row. times: from
    `measure.step_times`. context: of the drawn steps, in tokens; default: the shortest. guess: the
    name of a prediction of the largest batch's milliseconds.
    """
    context = context or min(time.context for time in times)
    some = sorted((t for t in times if t.context == context), key=lambda t: t.batch_size)
    shown = [time for time in some if time.batch_size <= batch_size]
    figure = Picture(figsize=(11, 4.8), layout="constrained", facecolor="white")
    axis = figure.subplots()
    heights = [_stack(axis, time, _account(model, roof, time, some[0])) for time in shown]
    took = [time.total_s * 1e3 for time in shown]
    axis.plot([log2(time.batch_size) for time in shown], took, label=MEASURED, **TOOK)
    for time, ms, account in zip(shown, took, heights, strict=True):
        look = {"ha": "right", "textcoords": "offset points", "fontsize": TICK, "color": INK}
        plate = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        at = (log2(time.batch_size), ms)
        axis.annotate(f"{ms / account:.1f}×", at, (0, 8), bbox=plate, **look)
    asked = guess if len(shown) == len(some) else None
    finding = _finding(some[0], shown[-1])
    dress(axis, finding + said(asked, "{:,.4g} ms"), "rows in the batch", "ms per step")
    axis.set_xticks([log2(time.batch_size) for time in some], [str(t.batch_size) for t in some])
    axis.set_xlim(-0.6, log2(some[-1].batch_size) + 0.6)
    top = 1.2 * max([*heights, *(time.total_s * 1e3 for time in some)])
    axis.set_ylim(0, top)
    if (guess_of(asked) or 0) < FAR * top:  # a larger guess would leave no room for the bars
        mark(axis, asked, along="y")
    _ridge(axis, roof.rows_at_the_ridge(model.dtype.itemsize), batch_size)
    axis.legend(*_legend(axis), loc="upper left", frameon=False, fontsize=TICK)
    describe(figure, "A step by cause, as the batch grows, and what it took.", [finding])
    return figure


def _finding(alone: StepTime, last: StepTime) -> str:
    rows = "1 row takes" if last.batch_size == 1 else f"{last.batch_size} rows take"
    more = f", {last.total_s / alone.total_s:.1f} times as long as one row"
    words = f"{last.context:,} tokens of context: {rows} {last.total_s * 1e3:.1f} ms"
    return words + ("" if last is alone else more)


def _account(model: Model, roof: Roof, time: StepTime, alone: StepTime) -> Stack:
    account = roof.account(decode_step(model, time.batch_size, time.context))
    return [
        (WEIGHTS, account.weights_s),
        (ARITHMETIC, account.arithmetic_s),
        (KV, account.kv_s),
        (OVERHEAD, alone.other_s),
    ]


def _stack(axis: Axes, time: StepTime, parts: Stack) -> float:
    """Draw the bar of one batch; returns its height in milliseconds."""
    bottom = 0.0
    for (label, colour, hatch), seconds in parts:
        look = {"facecolor": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.6}
        axis.bar(
            log2(time.batch_size), seconds * 1e3, bottom=bottom, width=0.7, label=label, **look
        )
        bottom += seconds * 1e3
    return bottom


def _legend(axis: Axes) -> tuple[list, list[str]]:
    named = dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    names = sorted(named, key=(MEASURED, *(part[0] for part in TOP_DOWN)).index)
    return [named[name] for name in names], names


def _ridge(axis: Axes, rows: float, batch_size: int) -> None:
    """Draw a line at the ridge, once the batch is that large."""
    if rows > batch_size:
        return
    axis.axvline(log2(rows), color=RIDGE, linewidth=2.5, linestyle=":", zorder=0)
    look = {"ha": "right", "va": "top", "fontsize": TICK, "color": INK}
    axis.text(log2(rows) - 0.06, 0.97, "ridge", transform=axis.get_xaxis_transform(), **look)
