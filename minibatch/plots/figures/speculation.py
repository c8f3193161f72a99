"""The gain of speculation by batch size, for several proposers: predicted and measured, and where
it becomes a loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from ...simulator.speculation import Prediction, break_even, pays
from ..colours import INK, PROTAGONISTS, WAITS
from ..guesses import mark, said
from ..picture import LABEL, TICK, canvas, describe, dress, with_conditions

Rates = Mapping[str, Sequence[Prediction]]
NOISE = 0.1  # several runs of one proposer at batch size 64 gave 0.96 to 1.09, on two cores
LOOKS = tuple(zip(PROTAGONISTS, "osD", strict=True))


def speculation(
    measured: Rates,
    predicted: Rates | None = None,
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Tokens per second with draft tokens, as a multiple of those without; a line for each
    proposer. In the grey half speculation is a loss; the point where a line enters it is marked.

    measured, predicted: by a proposer's name, from `measure.speculation_rates` and
    `simulator.speculation.predict`; at most three. guess: the name of a prediction of the largest
    batch size at which the last proposer gains.
    """
    figure, (axis,) = canvas(1, ax, height=5.4 if predicted else 3.4)
    plain = {rate.batch_size: rate.plain_tokens_per_s for rates in measured.values()
             for rate in rates}  # fmt: skip
    sizes = sorted(plain)
    axis.set_xscale("log", base=2)
    above: list[tuple[int, float]] = []  # points of the lines before
    for (name, rates), (colour, marker) in zip(measured.items(), LOOKS, strict=False):
        points = [(rate.batch_size, rate.speed_up) for rate in rates]
        axis.plot(*zip(*points, strict=True), color=colour, linewidth=3, marker=marker,
                  markersize=10, markeredgecolor=INK, zorder=4)  # fmt: skip
        last = points[-1][0]
        for size, times in points:
            aside = -25 if above and times > 0.6 else 13  # the second line is below the first
            axis.annotate(f"{times:.2f}×", (size, times), (0, aside), textcoords="offset points",
                          ha="center", fontsize=TICK, color=INK, zorder=6,
                          bbox={"facecolor": "white", "alpha": 0.9, "edgecolor": "none",
                                "pad": 0.5})  # fmt: skip
        above += points
        crossing = break_even(rates)
        if crossing and crossing <= last:
            axis.plot(crossing, 1, "o", markersize=19, markerfacecolor="none", zorder=5,
                      markeredgecolor=INK, markeredgewidth=2)  # fmt: skip
        foretold = [(rate.batch_size, rate.speed_up) for rate in (predicted or {}).get(name, ())
                    if sizes[0] <= rate.batch_size <= sizes[-1]]  # fmt: skip
        if foretold:
            axis.plot(*zip(*foretold, strict=True), color=colour, linestyle=":", linewidth=3,
                      marker=marker, markersize=6, markerfacecolor="white", zorder=3)  # fmt: skip
    if predicted:
        dotted = Line2D([], [], color=INK, linestyle=":", linewidth=2, label="by the formula")
        axis.legend(handles=[dotted], frameon=False, fontsize=TICK, loc="upper right")
    axis.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.3)
    axis.set_ylim(0.4, 1.15 * max(axis.get_ylim()[1], 1.2))
    axis.axhspan(0, 1, facecolor=WAITS, linewidth=0, zorder=0)
    _name_the_ends(axis, {name: rates[-1].speed_up for name, rates in measured.items()})
    axis.axhline(1, color=INK, linewidth=2)
    axis.text(sizes[0] / 1.2, 0.46, "slower than without draft tokens", fontsize=TICK, color=INK)
    axis.set_xticks(sizes, [f"{size}\n{plain[size]:,.0f}/s" for size in sizes])
    axis.xaxis.set_minor_locator(NullLocator())
    told = list(measured)[-1]
    findings = []
    for name, rates in measured.items():
        words = said(guess) if name == told else ""
        findings.append(_finding(name, rates, (predicted or {}).get(name, ())) + words)
    every = [rate for rates in measured.values() for rate in rates if hasattr(rate, "conditions")]
    x = "sequences in the batch (below: their tokens per second without draft tokens)"
    dress(axis, "\n".join(findings), with_conditions(x, every), "speed-up in tokens/s")
    mark(axis, guess)
    what = (
        "Lines: tokens per second with draft tokens, as a multiple of those without, by batch size."
    )
    describe(figure, what, findings)
    return figure


def _name_the_ends(axis: Axes, ends: Mapping[str, float]) -> None:
    """The name of each line at the right of the axis; names that would touch move apart."""
    low, high = axis.get_ylim()
    place = -1.0
    for name, end in sorted(ends.items(), key=lambda pair: pair[1]):
        place = max((end - low) / (high - low), place)
        axis.text(1.01, place, name, transform=axis.transAxes, va="center", fontsize=LABEL,
                  weight="bold", color=INK)  # fmt: skip
        place += 0.08


def _finding(name: str, measured: Sequence[Prediction], predicted: Sequence[Prediction]) -> str:
    faster = [rate.batch_size for rate in measured if rate.speed_up > 1 + NOISE]
    unclear = [f"{rate.batch_size}" for rate in measured if abs(rate.speed_up - 1) <= NOISE]
    words = (
        f"{name} is faster up to batch {max(faster)}"
        if faster
        else f"{name} is not faster at any measured size"
    )
    if unclear:
        words += f", unclear at {' and '.join(unclear)}"
    by_formula = pays(predicted).replace("a batch of ", "") if predicted else ""
    return words + (f"; formula: {by_formula}" if by_formula else "")
