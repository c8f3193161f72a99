"""Tokens per second against batch size, with guesses and without: predicted, and measured."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...simulator.speculation import Prediction, break_even
from ..colours import INK, PROTAGONISTS, WASTE, WORK
from ..guesses import said
from ..picture import TICK, TITLE, canvas, describe, dress, with_conditions


def speculation(
    measured: Sequence[Prediction],
    predicted: Sequence[Prediction] = (),
    *,
    yours: Sequence[Prediction] = (),
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """How many times the tokens per second guessing brings, a group of bars for each batch size.

    measured, predicted: of `measure.speculation_rates` and `simulator.speculation.predict`; above
    the bars what is measured, in tokens per second, without guesses and with. yours: measured with
    another guesser, a diamond. guess: the name of a prediction of the last batch size that gains.
    """
    sizes = [rate.batch_size for rate in measured]
    figure, (axis,) = canvas(1, ax, height=4.2)
    foretold = {rate.batch_size: rate for rate in predicted}
    places = range(len(sizes))
    for place, rate in zip(places, measured, strict=True):
        gains = rate.speed_up > 1
        look = {"color": WORK} if gains else {"color": WASTE, "hatch": "xx", "edgecolor": "white"}
        axis.bar(place, rate.speed_up, width=0.62, **look)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 2}
        look = {"ha": "center", "va": "center", "color": INK, "bbox": box}
        axis.text(place, 0.3, f"{rate.speed_up:.2f}×", fontsize=TITLE, weight="bold", **look)
        words = f"{rate.plain_tokens_per_s:,.0f} → {rate.tokens_per_s:,.0f}"
        axis.text(place, 0.09, words, fontsize=TICK, **look)
    inside = [(place, foretold[size]) for place, size in zip(places, sizes, strict=True)
              if size in foretold]  # fmt: skip
    if inside:
        axis.plot([place for place, _ in inside], [rate.speed_up for _, rate in inside], "o--",
                  color=INK, markerfacecolor=PROTAGONISTS[1], markersize=11, linewidth=1.5,
                  label="predicted", zorder=6)  # fmt: skip
    of = {rate.batch_size: rate.speed_up for rate in yours}
    if of:
        axis.plot([p for p, s in zip(places, sizes, strict=True) if s in of],
                  [of[s] for s in sizes if s in of], "D", color=PROTAGONISTS[0],
                  markeredgecolor=INK, markersize=11, label="yours", zorder=7)  # fmt: skip
    axis.axhline(1, color=INK, linewidth=2)
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    look = {"fontsize": TICK, "va": "center", "color": INK, "bbox": paper}
    axis.text(len(sizes) - 0.55, 1, "without\nguesses", **look)
    axis.set_xticks(list(places), [f"{size}" for size in sizes])
    axis.set_xlim(-0.6, len(sizes) + 0.2)
    drawn = [*measured, *yours, *(rate for _, rate in inside)]
    axis.set_ylim(0, 1.15 * max(1.0, *(rate.speed_up for rate in drawn)))
    if inside or of:
        axis.legend(frameon=False, fontsize=TICK, loc="upper right")
    finding = _finding(measured, predicted) + said(guess)
    dress(axis, finding, with_conditions("sequences in the batch; on the bars: tokens per second "
          "without → with guesses", [r for r in measured if hasattr(r, "conditions")]),
          "times the tokens per second")  # fmt: skip
    describe(figure, "Bars: tokens per second with guesses, as a multiple of those without, by "
             "batch size.", [finding])  # fmt: skip
    return figure


def _finding(measured: Sequence[Prediction], predicted: Sequence[Prediction]) -> str:
    until, first, last = break_even(measured), measured[0], measured[-1]
    pays = f"Guessing pays up to a batch of {until}" if until else "Guessing never pays here"
    if until == last.batch_size:
        pays = f"Guessing pays at every size up to {until}"
    told = break_even(predicted) if predicted else None
    told = f" (predicted: {told or 'never'})" if predicted else ""
    ends = f"{first.speed_up:.2f}× at {first.batch_size}, {last.speed_up:.2f}× at {last.batch_size}"
    return f"{pays}{told}: {ends}"
