"""The trade-off of serving: tokens a second of all requests, against the latency of each."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ...bench.measure import StepTime
from ..colours import EMPTY, INK, LIMIT, PROTAGONISTS, WAITS, WORK
from ..guesses import said
from ..picture import LABEL, canvas, describe, dress


def tradeoff(
    times: list[StepTime],
    limit: float | None = None,
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Tokens a second of all slots against milliseconds between two tokens of one answer, a dot for
    each number of slots.

    times: from `minibatch.bench.measure.step_times`, of one context. limit: the longest acceptable
    time between two tokens, in milliseconds. guess: the name of a prediction of how many times
    longer the step with the most slots takes than the one with the fewest.
    """
    some = sorted(times, key=lambda time: time.batch_size)
    waits, rates = [1e3 * t.total_s for t in some], [t.tokens_per_s for t in some]
    figure, (axis,) = canvas(1, ax, height=3.4)
    right, top = 1.35 * max(waits), 1.25 * max(rates)
    axis.plot(waits, rates, color=INK, linewidth=1.5)
    finding = _finding(some) + said(guess)
    below = (-right, -top)  # the last point with its label on the right
    for time, x, y in zip(some, waits, rates, strict=True):
        within = limit is None or x <= limit
        look = {"markerfacecolor": WORK if within else EMPTY, "markeredgecolor": INK}
        axis.plot(x, y, "o" if within else "X", markersize=13, **look)
        words = f"{time.batch_size} slot{'s' * (time.batch_size > 1)}"
        is_near = abs(x - below[0]) < 0.12 * right and y - below[1] < 0.1 * top
        if is_near or time is some[0]:
            at, side, level = (-11, 0), "right", "center"
        else:
            at, side, level, below = (10, -3), "left", "top", (x, y)
        axis.annotate(words, (x, y), at, textcoords="offset points", fontsize=LABEL,
                      ha=side, va=level,
                      path_effects=[withStroke(linewidth=4, foreground="white")])  # fmt: skip
    if limit is not None:
        axis.axvspan(limit, right, facecolor=WAITS, linewidth=0)
        axis.axvline(limit, **LIMIT)
        axis.annotate(f"your limit: {limit:g} ms", (limit, 0.94), (6, 0), fontsize=LABEL, va="top",
                      xycoords=("data", "axes fraction"), textcoords="offset points")  # fmt: skip
        best = [i for i, x in enumerate(waits) if x <= limit]
        if best:
            chosen = max(best, key=lambda i: rates[i])
            axis.plot(waits[chosen], rates[chosen], "o", markersize=17, markeredgecolor=INK,
                      markerfacecolor=PROTAGONISTS[0])  # fmt: skip
            finding = (
                f"Within {limit:g} ms per token: {some[chosen].batch_size} slots, "
                f"{rates[chosen]:,.0f} tokens/s"
            )
        else:
            finding = f"No measured number of slots gives a token within {limit:g} ms"
    axis.set_xlim(0, right)
    axis.set_ylim(0, top)
    dress(axis, finding, "ms between two tokens of an answer", "tokens/s, all answers together")
    describe(figure, "Dots: throughput against latency, one for each number of slots.", [finding])
    return figure


def _finding(some: list[StepTime]) -> str:
    few, many = some[0], some[-1]
    slots = f"{many.batch_size} slots instead of {few.batch_size}"
    gain, price = many.tokens_per_s / few.tokens_per_s, many.total_s / few.total_s
    return f"{slots}: {gain:.1f}× the tokens/s, each token takes {price:.1f}× as long"
