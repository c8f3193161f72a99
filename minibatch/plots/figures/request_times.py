"""One request on a line of time: which stretch each latency measures."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.completion import Completion
from ..colours import INK, PROTAGONISTS, WAITS, WORK
from ..picture import LABEL, TICK, canvas, describe, dress


def request_times(completion: Completion, *, ax: Axes | None = None) -> Figure:
    """The queue, the prompt's steps, and a mark for each token; below, the stretches that TTFT, the
    longest ITL and e2e measure. TPOT is the mean of the gaps between tokens.

    completion: of a served request with at least two tokens.
    """
    times = [1e3 * (time - completion.arrival_time) for time in completion.token_times]
    begin = 1e3 * (completion.first_scheduled_time - completion.arrival_time)
    first, last = times[0], times[-1]
    gaps = [after - before for before, after in zip(times, times[1:], strict=False)]
    longest = gaps.index(max(gaps))
    figure, (axis,) = canvas(1, ax, height=2.9)
    bar = {"height": 0.6, "edgecolor": INK, "linewidth": 0.8}
    axis.barh(0, begin, color=WAITS, label="in the queue", **bar)
    prompt = {"left": begin, "hatch": "////", "label": "the prompt's steps"}
    axis.barh(0, first - begin, color=WORK, **prompt, **bar)
    tokens = f"{len(times)} tokens, one line each"
    axis.barh(0, last - first, left=first, color=WORK, label=tokens, **bar)
    axis.vlines(times, -0.42, 0.42, color=INK, linewidth=1.4)
    spans = (
        (f"TTFT {first:,.0f} ms", 0, first, PROTAGONISTS[0]),
        (f"longest ITL {max(gaps):,.0f} ms", times[longest], times[longest + 1], PROTAGONISTS[2]),
        (f"e2e {last:,.0f} ms", 0, last, INK),
    )
    for y, (words, left, right, colour) in enumerate(spans, 1):
        axis.plot([left, right], [y, y], "|-", color=colour, linewidth=2.5, markersize=12)
        far = (left + right) / 2 > 0.7 * last
        axis.annotate(words, (left if far else right, y), (-8 if far else 8, 0), va="center",
                      ha="right" if far else "left", textcoords="offset points", fontsize=LABEL,
                      color=INK)  # fmt: skip
    tpot = sum(gaps) / len(gaps)
    finding = f"The longest gap is {max(gaps) / tpot:.2g} times the mean of all gaps"
    dress(axis, finding, "ms after the request was due")
    axis.set_yticks([])
    axis.spines["left"].set_visible(False)
    axis.set_xlim(0, 1.12 * last)
    axis.set_ylim(3.6, -0.6)
    axis.tick_params(labelsize=TICK)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=LABEL)
    describe(figure, "A bar from arrival to the last token, and a line for each latency.",
             [finding, *(words for words, *_ in spans)])  # fmt: skip
    return figure
