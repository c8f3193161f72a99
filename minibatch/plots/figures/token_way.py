"""The first tokens of one request on their way: from the client to the engine, and back."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.completion import Completion
from ..colours import INK, PROTAGONISTS, WAITS, WASTE, WORK
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress, percent

LANES = ("client", "socket", "engine")


def token_way(
    sent: float,
    received: float,
    completion: Completion,
    written: Sequence[float],
    arrived: Sequence[float],
    *,
    num_tokens: int = 6,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Three lanes over time: the client, the server's socket, the engine. Lines between them are
    the request on its way in, and each token on its way out.

    All times are seconds on the engine's clock. sent, arrived: the request, and each token, at the
    client. received, written: at the server's socket. completion: the engine's times. num_tokens:
    how many tokens are shown. guess: the name of a prediction, in percent, of the share of the time
    to the first token outside the engine's steps.
    """
    computed = completion.token_times
    n = min(num_tokens, len(computed), len(written), len(arrived))
    begin = completion.first_scheduled_time

    def ms(time: float) -> float:
        return 1e3 * (time - sent)

    figure, (axis,) = canvas(1, ax, height=2.7)
    ends = [begin, *computed[:n]]
    for i, (left, right) in enumerate(zip(ends, ends[1:], strict=False)):
        axis.barh(
            2,
            ms(right) - ms(left),
            left=ms(left),
            height=0.5,
            color=WORK,
            edgecolor=INK,
            hatch="////" if i == 0 else "",
            linewidth=0.8,
            label=("the prompt's step", "a step for each token")[i] if i < 2 else None,
        )
    if begin - completion.arrival_time > 0.01 * (ends[-1] - sent):
        axis.barh(
            2,
            ms(begin) - ms(completion.arrival_time),
            left=ms(completion.arrival_time),
            height=0.5,
            color=WAITS,
            edgecolor=INK,
            linewidth=0.8,
            label="in the queue",
        )
    axis.plot(
        [0, ms(received), ms(completion.arrival_time)],
        [0, 1, 1.75],
        "-o",
        color=PROTAGONISTS[2],
        markersize=5,
        label="the request",
    )
    for i in range(n):
        way = [ms(computed[i]), ms(written[i]), ms(arrived[i])]
        axis.plot(
            way,
            [1.75, 1, 0],
            "-o",
            color=PROTAGONISTS[0],
            markersize=5,
            label=None if i else "a token",
        )
    first = ms(arrived[0])
    outside = first - (ms(computed[0]) - ms(begin))
    axis.plot([0, first], [-0.45, -0.45], "|-", color=WASTE, linewidth=2.5, markersize=12)
    axis.annotate(
        f"TTFT {first:.1f} ms",
        (first, -0.45),
        (8, 0),
        textcoords="offset points",
        va="center",
        fontsize=LABEL,
        color=INK,
    )
    finding = (
        f"The client's TTFT is {first:.1f} ms; {outside:.1f} ms "
        f"({percent(outside / first)}) are outside the engine's step{said(guess, '{:.0f} %')}"
    )
    dress(axis, finding, "ms after the client sent the request")
    axis.set_yticks(range(3), LANES)
    axis.tick_params(axis="y", labelsize=LABEL)
    axis.tick_params(axis="x", labelsize=TICK)
    axis.set_ylim(2.5, -0.8)
    figure.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=LABEL)
    back = [ms(a) - ms(c) for a, c in zip(arrived[:n], computed[:n], strict=True)]
    describe(
        figure,
        "Three lanes: client, socket, engine.",
        [finding, f"from the engine to the client: {min(back):.1f} to {max(back):.1f} ms"],
    )
    return figure
