"""What changes, and by how much, when one policy replaces another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ...engine.metrics import Summary
from ..colours import EMPTY, INK, PROTAGONISTS
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress

WORDS = {  # name and format of a number
    "num_steps": ("steps", "{:,}"),
    "duration_s": ("time until all are served", "{:.2f} s"),
    "output_tokens_per_s": ("tokens a second", "{:,.0f}"),
    "slot_utilization": ("rows that yield a token", "{:.0%}"),
    "batch_fill": ("slots with a row", "{:.0%}"),
    "ttft_mean_s": ("first token after, mean", "{:.2f} s"),
    "ttft_p99_s": ("first token after, 99 of 100", "{:.2f} s"),
    "tpot_mean_s": ("between two tokens, mean", "{:.4f} s"),
    "e2e_mean_s": ("last token after, mean", "{:.2f} s"),
    "e2e_p99_s": ("last token after, 99 of 100", "{:.2f} s"),
}
DEFAULT = ("num_steps", "slot_utilization", "batch_fill", "ttft_mean_s", "e2e_mean_s")
MARKERS = ("D", "s", "^")


def dumbbells(
    summaries: Mapping[str, Summary],
    keys: Iterable[str] = DEFAULT,
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Several runs' numbers as multiples of the first run's: a line for each number, a mark for
    each run, with its value.

    summaries: from `Trace.summary`, two to four by name. keys: their entries to show. guess: the
    name of a prediction of the first entry, in the last run.
    """
    first, *others = summaries
    keys = list(keys)
    figure, (axis,) = canvas(1, ax, height=0.7 + 0.7 * len(keys))
    base = summaries[first]
    for y, key in enumerate(keys):
        shares = [summaries[name][key] / base[key] for name in others]
        axis.plot(
            [min(1, *shares), max(1, *shares)], [y, y], color="#BBBBBB", linewidth=4, zorder=1
        )
        axis.plot(1, y, "o", markersize=11, markerfacecolor=EMPTY, markeredgecolor=INK)
        for share, name, colour, marker in zip(shares, others, PROTAGONISTS, MARKERS, strict=False):
            axis.plot(share, y, marker, markersize=10, color=colour, markeredgecolor=INK)
            axis.annotate(_written(key, summaries[name]), (share, y), (0, 9), ha="center",
                          textcoords="offset points", fontsize=TICK, color=INK)  # fmt: skip
    axis.set_yticks(range(len(keys)), [f"{WORDS[k][0]}: {_written(k, base)}" for k in keys])
    axis.set_ylim(len(keys) - 0.5, -0.9)
    axis.axvline(1, color=INK, linewidth=0.8, linestyle=":", zorder=0)
    axis.margins(x=0.08)
    axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}×"))
    handles = [axis.plot([], [], "o", markersize=11, markerfacecolor=EMPTY, markeredgecolor=INK,
                         linestyle="", label=f"{first}: numbers on the left")[0]]  # fmt: skip
    for name, colour, marker in zip(others, PROTAGONISTS, MARKERS, strict=False):
        look = {"color": colour, "markeredgecolor": INK, "markersize": 10, "linestyle": ""}
        handles += axis.plot([], [], marker, **look, label=name)
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False,
                  fontsize=LABEL)  # fmt: skip
    ends = {name: summaries[name] for name in (first, others[-1])}  # the others' are drawn below
    finding = _finding(ends, keys[0]) + said(guess)
    dress(axis, finding, f"as a multiple of {first}")
    axis.tick_params(axis="y", labelsize=LABEL)
    lines = [
        f"{WORDS[key][0]}: " + ", ".join(f"{n} {_written(key, s)}" for n, s in summaries.items())
        for key in keys
    ]
    describe(figure, "Marks on a line for each figure.", [finding, *lines])
    return figure


def _written(key: str, summary: Summary) -> str:
    return WORDS[key][1].format(summary[key]).replace("%", " %")


def _finding(summaries: Mapping[str, Summary], key: str) -> str:
    values = [f"{name} {_written(key, summary)}" for name, summary in summaries.items()]
    return f"{WORDS[key][0]}: " + ", ".join(values)
