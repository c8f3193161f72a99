"""The gain of speculation by batch size, for several proposers: predicted and measured, and where
it becomes a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator, NullLocator

from ...simulator.speculation import Prediction, break_even
from ..colours import INK, WAITS, WORK
from ..guesses import mark, said
from ..picture import LABEL, TICK, canvas, describe, dress

Rates = Mapping[str, Sequence[Prediction]]
NOISE = 0.1  # several runs of one proposer at batch size 64 gave 0.91 to 1.09, on two cores
LOOKS = ("#0072B2", "o"), (WORK, "s")
ROW = 20  # points from one row of numbers below the axis to the next


def speculation(
    measured: Rates, predicted: Rates, *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """Tokens per second with draft tokens, as a multiple of those without; a line for each
    proposer. In the grey part speculation is a loss. Below: the measured values, and up to which
    batch size each proposer is faster.

    measured, predicted: by a proposer's name, from `measure.speculation_rates` and
    `simulator.speculation.predict`; one or two, the better one first. guess: the name of a
    prediction of the largest batch size at which the last proposer gains.
    """
    figure, (axis,) = canvas(1, ax, height=4.6)
    sizes = sorted({rate.batch_size for rates in measured.values() for rate in rates})
    axis.set_xscale("log", base=2)
    axis.axhspan(0, 1, facecolor=WAITS, linewidth=0, zorder=0)
    axis.axhline(1, color=INK, linewidth=1.5)
    highest = max(rates[-1].speed_up for rates in measured.values())
    lines, told = [], zip(measured.items(), LOOKS, strict=False)
    for place, ((name, rates), (colour, marker)) in enumerate(told, start=2):
        points = {rate.batch_size: rate.speed_up for rate in rates}
        axis.plot(*zip(*points.items(), strict=True), color=colour, linewidth=3, marker=marker,
                  markersize=9, zorder=4)  # fmt: skip
        foretold = [(rate.batch_size, rate.speed_up) for rate in predicted.get(name, ())
                    if sizes[0] <= rate.batch_size <= sizes[-1]]  # fmt: skip
        if foretold:
            axis.plot(*zip(*foretold, strict=True), color=colour, linestyle=":", linewidth=2)
        crossing = break_even(rates) if rates[0].speed_up > 1 else None
        until = "at all sizes" if rates[0].speed_up > 1 else "at no size"
        if crossing and crossing <= sizes[-1]:
            until = f"up to about {crossing:.0f}"
        elif 1 < rates[-1].speed_up <= 1 + NOISE and rates[0].speed_up > 1:
            until = f"up to about {sizes[-1]}"
        side = "bottom" if rates[-1].speed_up == highest else "top"
        axis.annotate(name, (1, rates[-1].speed_up), (8, 0), va=side, fontsize=LABEL, color=INK,
                      xycoords=axis.get_yaxis_transform(),
                      textcoords="offset points")  # fmt: skip
        numbers = {size: f"{times:.2f}×" for size, times in points.items()}
        _write_row(axis, place, name, numbers, until)
        lines.append(f"{name} pays {until}: {', '.join(f'{t} at {n}' for n, t in numbers.items())}")
    _write_row(axis, 1, "sequences", {size: f"{size}" for size in sizes}, "faster")
    axis.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.25)
    axis.set_ylim(0.4, 1.1 * max(axis.get_ylim()[1], 1.2))
    axis.text(sizes[0] / 1.2, 0.46, "slower than without draft tokens", fontsize=TICK, color=INK)
    axis.text(sizes[-1] * 1.2, 0.46, "dotted: by the formula", ha="right", fontsize=TICK, color=INK)
    finding = _finding(list(measured.values())) + said(guess)
    dress(axis, finding, "", "speed-up")
    axis.set_xticks(sizes, [""] * len(sizes))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_locator(MultipleLocator(0.5))
    mark(axis, guess)
    conditions = {str(rate.conditions) for rates in measured.values() for rate in rates
                  if getattr(rate, "conditions", None)}  # fmt: skip
    what = "Lines: tokens per second with draft tokens, as a multiple of those without, by batch."
    describe(figure, what, [finding, *lines, *sorted(conditions)])
    return figure


def _write_row(axis: Axes, place: int, name: str, numbers: Mapping[int, str], end: str) -> None:
    """A row of numbers below the axis; its name is on the left, `end` on the right."""
    down = -ROW * place + 4
    look = {"textcoords": "offset points", "fontsize": TICK, "color": INK, "va": "center"}
    axis.annotate(name, (0, 0), (-8, down), xycoords="axes fraction", ha="right", **look)
    axis.annotate(end, (1, 0), (8, down), xycoords="axes fraction", **look)
    for size, words in numbers.items():
        axis.annotate(words, (size, 0), (0, down), xycoords=axis.get_xaxis_transform(),
                      ha="center", **look)  # fmt: skip


def _finding(measured: Sequence[Sequence[Prediction]]) -> str:
    gains = [[rate.batch_size for rate in rates if rate.speed_up > 1 + NOISE] for rates in measured]
    if not any(gains):
        return "Guessing pays at no measured batch size"
    if all(rates[-1].speed_up <= 1 + NOISE for rates in measured):
        largest = max(rates[-1].batch_size for rates in measured)
        return f"Guessing pays in small batches, but not with {largest} sequences"
    if all(len(some) == len(rates) for some, rates in zip(gains, measured, strict=True)):
        return "Guessing pays at every measured batch size"
    return "The better the guesses, the larger the batch in which they pay"
