"""The cost of a token of the prompt, and of a token of the answer."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...engine.trace import Trace
from ..colours import HATCHES, INK, WORK
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress


def phases(trace: Trace, *, guess: str | None = None, ax: Axes | None = None) -> Figure:
    """A bar for reading a token and one for generating a token, measured in tokens read.

    trace: of one request, served alone: its first pass reads the prompt, every other one generates
    a token. guess: the name of a prediction: how many tokens can be read in the time of one
    generated token.
    """
    prefill, *decodes = trace.steps
    num_read = prefill.rows[0].num_tokens
    reading = prefill.end_time - prefill.start_time
    writing = sum(step.end_time - step.start_time for step in decodes)
    count = len(decodes)
    times = (writing / count) / (reading / num_read)

    figure, (axis,) = canvas(1, ax, height=1.7)
    look = {"height": 0.7, "edgecolor": INK, "linewidth": 0.6}
    axis.barh(0, 1, facecolor=WORK, hatch=HATCHES["prefill"], **look)
    axis.barh(1, times, facecolor=WORK, **look)
    for place in range(1, int(times) + 1):
        axis.plot([place] * 2, [0.65, 1.35], color=INK, linewidth=0.6)
    for place, (width, seconds) in enumerate(((1, reading / num_read), (times, writing / count))):
        axis.annotate(f"{1e3 * seconds:.2f} ms", (width, place), (8, 0), va="center",
                      textcoords="offset points", fontsize=LABEL, color=INK)  # fmt: skip
    axis.set_yticks([0, 1], ["a token read", "a token written"])
    axis.set_ylim(1.5, -0.5)
    axis.set_xlim(0, times * 1.15)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    finding = f"Generating one token takes as long as reading {times:.0f} tokens"
    dress(axis, finding + said(guess), "tokens read in the same time")
    mark(axis, guess)
    told = f"{num_read:,} tokens read in 1 pass, {count:,} generated in {count:,} passes."
    describe(figure, told, [finding])
    return figure
