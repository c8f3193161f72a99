"""Two ideas, with and without each: tokens a second, and the gain of each."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, NullLocator

from ...engine.trace import Trace
from ..colours import EMPTY, INK, WORK
from ..guesses import said
from ..picture import LABEL, SMALL, TICK, TITLE, Picture, describe

ARROW = {"arrowstyle": "-|>", "color": INK, "linewidth": 2.5, "mutation_scale": 22}
BOX = {"facecolor": "white", "edgecolor": INK, "boxstyle": "round,pad=0.3"}

NARROW = 0.25  # of the whole bar; words do not fit into less


def two_by_two(traces: Mapping[str, Mapping[str, Trace]], *, guess: str | None = None) -> Figure:
    """Four runs of the same requests: two rows of two, by name, the plainest first. Each cell has
    the tokens a second of its own steps; between two cells is their ratio. Below: the whole gain as
    a product, in both orders.

    guess: the name of a prediction of the last cell as a multiple of the first.
    """
    figure = Picture(figsize=(11, 6.2), layout="constrained", facecolor="white")
    axis, below = figure.subplots(2, 1, height_ratios=(4.4, 1.6))
    rates = {}
    for y, (row, cells) in enumerate(traces.items()):
        axis.text(-0.12, 2 * y + 0.6, row, ha="right", va="center", fontsize=LABEL, color=INK)
        for x, (column, trace) in enumerate(cells.items()):
            if not y:
                axis.text(3 * x + 1, -0.18, column, ha="center", va="bottom", fontsize=LABEL,
                          color=INK)  # fmt: skip
            rates[x, y] = _cell(axis, 3 * x, 2 * y, trace, last=x == y == 1)
    for begin, end in (((0, 0), (1, 0)), ((0, 1), (1, 1)), ((0, 0), (0, 1)), ((1, 0), (1, 1))):
        x, y = begin
        down = end[1] > y
        tail = (3 * x + 1, 1.2) if down else (2, 2 * y + 0.6)
        head = (3 * x + 1, 2) if down else (3, 2 * y + 0.6)
        axis.annotate("", head, tail, arrowprops=ARROW)
        middle = (tail[0] + head[0]) / 2, (tail[1] + head[1]) / 2
        axis.text(*middle, f"× {rates[end] / rates[begin]:.1f}", ha="center", va="center",
                  fontsize=LABEL, bbox=BOX, color=INK)  # fmt: skip
    whole = rates[1, 1] / rates[0, 0]
    axis.annotate("", (3, 2), (2, 1.2), arrowprops=ARROW | {"linestyle": ":"})
    axis.text(2.5, 1.6, f"× {whole:.1f}", ha="center", va="center", fontsize=TITLE, bbox=BOX,
              color=INK, weight="bold")  # fmt: skip
    finding = f"Both ideas give {whole:.1f} times the tokens/s of the baseline{said(guess)}"
    axis.set_title(finding, loc="left", fontsize=TITLE, color=INK, pad=26)
    axis.set_xlim(-1.15, 5.05)
    axis.set_ylim(3.6, -0.25)
    axis.axis("off")
    cells = [
        f"{row}, {column}: {_rate(trace):.0f} tokens/s"
        for row, traces_of_row in traces.items()
        for column, trace in traces_of_row.items()
    ]
    orders = _orders(below, rates, list(traces), list(next(iter(traces.values()))))
    describe(
        figure, "Four cells of tokens per second, arrows between them.", [finding, *orders, *cells]
    )
    return figure


def _orders(
    axis: Axes, rates: Mapping[tuple[int, int], float], rows: list[str], columns: list[str]
) -> list[str]:
    """Two bars on a logarithmic axis: the first idea first, and the other one first."""
    whole, found = rates[1, 1] / rates[0, 0], []
    ends = [1, whole, rates[0, 1] / rates[0, 0], rates[1, 0] / rates[0, 0]]
    least, most = min(ends), max(max(ends), 1.02 * min(ends))
    for place, middle in enumerate(((0, 1), (1, 0))):
        steps = [rates[middle] / rates[0, 0], rates[1, 1] / rates[middle]]
        names = [rows[1], columns[1]] if middle == (0, 1) else [columns[1], rows[1]]
        words = [f"{name} × {factor:.2f}" for name, factor in zip(names, steps, strict=True)]
        left = 1.0
        for name, factor, word in zip(names, steps, words, strict=True):
            colour = WORK if name == rows[1] else EMPTY
            axis.barh(place, left * factor - left, left=left, height=0.62, color=colour,
                      edgecolor=INK)  # fmt: skip
            at, side = left * factor**0.5, "center"
            if log(factor) / log(most / least) < NARROW or min(steps) < 1:
                at, side = (least, "left") if word == words[0] else (most, "right")
            axis.text(at, place, word, ha=side, va="center", fontsize=TICK, color=INK)  # fmt: skip
            left *= factor
        found.append(", then ".join(words))
    axis.set_xscale("log")
    axis.set_yticks([0, 1], [f"{rows[1]} first", f"{columns[1]} first"], fontsize=TICK, color=INK)
    axis.set_ylim(1.5, -0.5)
    axis.set_xlim(least, most * (most / least) ** 0.02)
    marks = [1, whole] if abs(log(whole) / log(most / least)) > NARROW / 2 else [1]
    axis.xaxis.set_major_locator(FixedLocator(marks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticklabels(["× 1", f"× {whole:.2f}"][: len(marks)], fontsize=TICK, color=INK)
    axis.tick_params(length=0)
    axis.spines[["top", "right"]].set_visible(False)
    finding = "The gain of each idea depends on the order (logarithmic axis)"
    axis.set_title(finding, loc="left", fontsize=LABEL, color=INK)
    return found


def _cell(axis: Axes, x: float, y: float, trace: Trace, last: bool) -> float:
    rate, most = _rate(trace), max(len(step.rows) for step in trace.steps)
    look = {"edgecolor": INK, "linewidth": 3.5 if last else 1.2}
    axis.add_patch(Rectangle((x, y), 2, 1.2, facecolor=WORK, **look))
    axis.text(x + 1, y + 0.45, f"{rate:,.0f} tokens/s", ha="center", va="center", fontsize=20)
    words = f"up to {most} requests at once"
    axis.text(x + 1, y + 0.92, words, ha="center", va="center", fontsize=SMALL)
    return rate


def _rate(trace: Trace) -> float:
    """Tokens a second of its own steps: time between the steps does not count."""
    seconds = sum(step.end_time - step.start_time for step in trace.steps)
    return sum(step.num_output_tokens for step in trace.steps) / seconds
